"""The quantile function of the normal distribution as nodes, which has no operator of its own."""

from collections.abc import Sequence

from batchensemble.export.graph import Value

# Algorithm AS 241 (M. Wichura, 1988), exact to about 16 digits: a ratio of two polynomials in the
# middle, another in the tails; their coefficients from the constant upwards. His third, for
# probabilities below 1e-11, is not needed here.
MIDDLE = (
    (
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ),
    (
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)
TAILS = (
    (
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)


def normal_quantile(probability: Value) -> Value:
    """For probabilities between 1e-11 and 1 - 1e-11, in float64."""
    q = probability - 0.5
    middle = q * _ratio(0.180625 - q * q, MIDDLE)
    tail = probability.apply("Min", 1 - probability)
    distance = (-tail.apply("Log")).apply("Sqrt")
    outside = q.apply("Sign") * _ratio(distance - 1.6, TAILS)
    return outside.but(middle, where=q.apply("Abs") <= 0.425)


def _ratio(x: Value, coefficients: tuple[Sequence[float], Sequence[float]]) -> Value:
    above, below = (_polynomial(x, own) for own in coefficients)
    return above / below


def _polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    *lower, last = coefficients
    y = x * last
    for coefficient in reversed(lower[1:]):
        y = (y + coefficient) * x
    return y + lower[0]
