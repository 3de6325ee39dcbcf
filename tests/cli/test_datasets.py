from batchensemble.cli.app import app


def test_datasets_lists_what_is_here_and_what_is_not(swift):
    done = swift.invoke(app, ["datasets"])
    assert done.exit_code == 0, done.output
    for words in ("diabetes", "442 x 11", "shipped with scikit-learn", "downloaded from FRED"):
        assert words in done.output
    assert "Not downloaded" not in done.output


def test_datasets_that_cannot_be_downloaded_are_no_failure_of_the_list(swift):
    done = swift.invoke(app, ["datasets", "--download"])
    assert done.exit_code == 0, done.output
    assert done.output.count("Not downloaded: the dataset") == 5
    assert "Traceback" not in done.output
