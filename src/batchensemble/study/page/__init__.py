"""The parts of the report's page: charts, template and style."""
