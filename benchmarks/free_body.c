/* The yardstick for the rotors: steps of a free rigid body by DMV and by SymmetricRotation, in C.

   The same arithmetic in the same order as the loops that catena generates, so that the final bits agree: compensated
   increments, one Newton step beyond convergence, length held. z is the quaternion and the body angular momentum,
   e what z cannot hold. All functions return 0, or 1 for a step that is too long. */

#include <math.h>

#define ITERATIONS 30
#define EXTRA 1
#define HOLD 0x1p-11
#define QUARTER_TURN 2.467

static inline void add(double *restrict z, double *restrict e, double d)
{
    double before = *z, after;
    d += *e;
    after = before + d;
    *e = d - (after - before);
    *z = after;
}

/* Quaternions --------------------------------------------------------------------------------------------------- */

/* q := q * (1 + a, b, c, d) */
static inline void turn_right(double *restrict q, double *restrict e, double a, double b, double c, double d)
{
    double q0 = q[0], q1 = q[1], q2 = q[2], q3 = q[3];
    add(q + 0, e + 0, q0 * a - q1 * b - q2 * c - q3 * d);
    add(q + 1, e + 1, q0 * b + q1 * a + q2 * d - q3 * c);
    add(q + 2, e + 2, q0 * c + q2 * a + q3 * b - q1 * d);
    add(q + 3, e + 3, q0 * d + q3 * a + q1 * c - q2 * b);
}

static inline void hold_length(double *restrict q, double *restrict e)
{
    double k = HOLD * (1.0 - (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]));
    for (int i = 0; i < 4; i++) add(q + i, e + i, k * q[i]);
}

static inline double cosine_less_one(double c, double s)
{
    return c > 0.0 ? -s * s / (1.0 + c) : c - 1.0;
}

static inline void turn_about_axis(double *restrict z, double *restrict e, int k, double angle)
{
    double *q = z, *y = z + 4, *eq = e, *ey = e + 4;
    int i = (k + 1) % 3, j = (k + 2) % 3;
    double c = cos(0.5 * angle), s = sin(0.5 * angle);
    double y1 = y[i], y2 = y[j], a = -2.0 * s * s, b = 2.0 * s * c;
    add(y + i, ey + i, a * y1 + b * y2);
    add(y + j, ey + j, a * y2 - b * y1);
    double q0 = q[0], q1 = q[1 + i], q2 = q[1 + j], q3 = q[1 + k];
    a = cosine_less_one(c, s);
    add(q, eq, a * q0 - s * q3);
    add(q + 1 + i, eq + 1 + i, a * q1 + s * q2);
    add(q + 1 + j, eq + 1 + j, a * q2 - s * q1);
    add(q + 1 + k, eq + 1 + k, a * q3 + s * q0);
}

/* turn by the vector ball y, then about axis k by axial y_k */
static inline void turn_symmetric(double *restrict z, double *restrict e, int k, double ball, double axial)
{
    double *q = z, *y = z + 4, *eq = e, *ey = e + 4;
    int i = (k + 1) % 3, j = (k + 2) % 3;
    double y1 = y[i], y2 = y[j], y3 = y[k];
    double v1 = ball * y1, v2 = ball * y2, v3 = ball * y3;
    double angle = sqrt(v1 * v1 + v2 * v2 + v3 * v3);
    double cosine = cos(0.5 * angle), sine = sin(0.5 * angle);
    double share = angle > 0.0 ? sine / angle : 0.5;
    double r0 = cosine_less_one(cosine, sine), r1 = share * v1, r2 = share * v2, r3 = share * v3;
    double c = cos(0.5 * axial * y3), s = sin(0.5 * axial * y3);
    double a = -2.0 * s * s, b = 2.0 * s * c;
    add(y + i, ey + i, a * y1 + b * y2);
    add(y + j, ey + j, a * y2 - b * y1);
    double d = cosine_less_one(c, s);
    double p0 = r0 + (d + (r0 * d - r3 * s)), p1 = r1 + (r1 * d + r2 * s);
    double p2 = r2 + (r2 * d - r1 * s), p3 = r3 + (s + (r3 * d + r0 * s));
    double q0 = q[0], q1 = q[1 + i], q2 = q[1 + j], q3 = q[1 + k];
    add(q, eq, q0 * p0 - q1 * p1 - q2 * p2 - q3 * p3);
    add(q + 1 + i, eq + 1 + i, q0 * p1 + q1 * p0 + q2 * p3 - q3 * p2);
    add(q + 1 + j, eq + 1 + j, q0 * p2 + q2 * p0 + q3 * p1 - q1 * p3);
    add(q + 1 + k, eq + 1 + k, q0 * p3 + q3 * p0 + q1 * p2 - q2 * p1);
}

/* Moser-Veselov ------------------------------------------------------------------------------------------------- */

static inline int turns_too_far(const double *restrict y, const double *restrict inertia, double h)
{
    double t1 = h * y[0] / inertia[0], t2 = h * y[1] / inertia[1], t3 = h * y[2] / inertia[2];
    return !(t1 * t1 + t2 * t2 + t3 * t3 < QUARTER_TURN);
}

/* root of e + (a e2 e3, b e3 e1, c e1 e2) = (1 + |e|^2) g by Newton's method */
static inline int half_angle(double g1, double g2, double g3, double a, double b, double c, double *restrict root)
{
    double e1 = g1 - a * g2 * g3, e2 = g2 - b * g3 * g1, e3 = g3 - c * g1 * g2;
    int extra = EXTRA;
    for (int sweep = 0; sweep < ITERATIONS; sweep++) {
        double factor = 1.0 + (e1 * e1 + e2 * e2 + e3 * e3);
        double f1 = e1 + a * e2 * e3 - factor * g1;
        double f2 = e2 + b * e3 * e1 - factor * g2;
        double f3 = e3 + c * e1 * e2 - factor * g3;
        double w1 = 2.0 * e1, w2 = 2.0 * e2, w3 = 2.0 * e3;
        double j11 = 1.0 - g1 * w1, j12 = a * e3 - g1 * w2, j13 = a * e2 - g1 * w3;
        double j21 = b * e3 - g2 * w1, j22 = 1.0 - g2 * w2, j23 = b * e1 - g2 * w3;
        double j31 = c * e2 - g3 * w1, j32 = c * e1 - g3 * w2, j33 = 1.0 - g3 * w3;
        double c11 = j22 * j33 - j23 * j32, c12 = j23 * j31 - j21 * j33, c13 = j21 * j32 - j22 * j31;
        double determinant = j11 * c11 + j12 * c12 + j13 * c13;
        if (!(determinant > 0.0)) return 1;
        double r = 1.0 / determinant;
        double d1 = r * (c11 * f1 + (j13 * j32 - j12 * j33) * f2 + (j12 * j23 - j13 * j22) * f3);
        double d2 = r * (c12 * f1 + (j11 * j33 - j13 * j31) * f2 + (j13 * j21 - j11 * j23) * f3);
        double d3 = r * (c13 * f1 + (j12 * j31 - j11 * j32) * f2 + (j11 * j22 - j12 * j21) * f3);
        e1 -= d1;
        e2 -= d2;
        e3 -= d3;
        double square = d1 * d1 + d2 * d2 + d3 * d3;
        if (square <= 1e-17 * (fabs(e1) + fabs(e2) + fabs(e3))) {
            if (extra == 0 || square == 0.0) {
                root[0] = e1;
                root[1] = e2;
                root[2] = e3;
                return 0;
            }
            extra--;
        }
    }
    return 1;
}

/* k_j I_j and their asymmetries, (It_3 - It_2)/It_1 and so on round */
typedef struct {
    double j1, j2, j3, a, b, c;
} Moments;

static inline Moments moments_of(const double *restrict inertia, double k1, double k2, double k3, double s)
{
    return (Moments){
        k1 * inertia[0],
        k2 * inertia[1],
        k3 * inertia[2],
        s * (inertia[2] - inertia[1]) * k2 * k3 / (k1 * inertia[0]),
        s * (inertia[0] - inertia[2]) * k3 * k1 / (k2 * inertia[1]),
        s * (inertia[1] - inertia[0]) * k1 * k2 / (k3 * inertia[2]),
    };
}

/* k_j = 1/(1 + s + t I_j) with the series s, t of order 2 p; tab: the middle moment, then their coefficients */
static inline Moments preprocessed(const double *restrict y, const double *restrict inertia, double h,
                                   const double *restrict tab, int p)
{
    double i1 = inertia[0], i2 = inertia[1], i3 = inertia[2], y1 = y[0], y2 = y[1], y3 = y[2], middle = tab[0];
    double x = 0.5 * h * h / middle
               * ((middle - i1) * y1 * y1 / i1 + (middle - i2) * y2 * y2 / i2 + (middle - i3) * y3 * y3 / i3);
    double c = 0.5 * h * h * (y1 * y1 + y2 * y2 + y3 * y3);
    double s = 0.0, t = 0.0;
    int count = (p - 1) * (p + 2) / 2, i = 1;
    for (int k = 1; k < p; k++) {
        double vs = tab[i], vt = tab[count + i], power = 1.0;
        for (int m = 1; m <= k; m++) {
            power *= c;
            vs = vs * x + tab[i + m] * power;
            vt = vt * x + tab[count + i + m] * power;
        }
        s += vs;
        t += vt;
        i += k + 1;
    }
    s += 1.0;
    return moments_of(inertia, 1.0 / (s + t * i1), 1.0 / (s + t * i2), 1.0 / (s + t * i3), s);
}

static inline int turn(double *restrict z, double *restrict e, const Moments m, double h)
{
    double *y = z + 4, *ey = e + 4, root[3], half = 0.5 * h;
    if (half_angle(half * y[0] / m.j1, half * y[1] / m.j2, half * y[2] / m.j3, m.a, m.b, m.c, root)) return 1;
    double e1 = root[0], e2 = root[1], e3 = root[2];
    double square = e1 * e1 + e2 * e2 + e3 * e3;
    double f = -4.0 / (h * (1.0 + square));
    add(y + 0, ey + 0, f * m.j1 * m.a * e2 * e3);
    add(y + 1, ey + 1, f * m.j2 * m.b * e3 * e1);
    add(y + 2, ey + 2, f * m.j3 * m.c * e1 * e2);
    double length = sqrt(1.0 + square);
    turn_right(z, e, -square / (length * (1.0 + length)), e1 / length, e2 / length, e3 / length);
    hold_length(z, e);
    return 0;
}

/* Steps --------------------------------------------------------------------------------------------------------- */

int dmv2(double *restrict z, double *restrict e, double h, long steps, const double *restrict inertia,
         const double *restrict tab)
{
    const Moments moments = moments_of(inertia, 1.0, 1.0, 1.0, 1.0);
    (void)tab;
    for (long step = 0; step < steps; step++)
        if (turns_too_far(z + 4, inertia, h) || turn(z, e, moments, h)) return 1;
    return 0;
}

/* a free body keeps the invariants that its modified moments depend on: computed once */
int dmv10(double *restrict z, double *restrict e, double h, long steps, const double *restrict inertia,
          const double *restrict tab)
{
    const Moments moments = preprocessed(z + 4, inertia, h, tab, 5);
    for (long step = 0; step < steps; step++)
        if (turns_too_far(z + 4, inertia, h) || turn(z, e, moments, h)) return 1;
    return 0;
}

/* inside a splitting, whose kicks change them: computed in each step */
int dmv10_anew(double *restrict z, double *restrict e, double h, long steps, const double *restrict inertia,
               const double *restrict tab)
{
    for (long step = 0; step < steps; step++)
        if (turns_too_far(z + 4, inertia, h) || turn(z, e, preprocessed(z + 4, inertia, h, tab, 5), h)) return 1;
    return 0;
}

/* tab: the axes i, j, k, then a_i - a_j, a_j, a_k - a_j; for three different moments */
int symmetric_rotation(double *restrict z, double *restrict e, double h, long steps, const double *restrict inertia,
                       const double *restrict tab)
{
    int i = (int)tab[0], k = (int)tab[2];
    double *y = z + 4;
    (void)inertia;
    for (long step = 0; step < steps; step++) {
        turn_about_axis(z, e, i, 0.5 * h * tab[3] * y[i]);
        turn_symmetric(z, e, k, h * tab[4], h * tab[5]);
        turn_about_axis(z, e, i, 0.5 * h * tab[3] * y[i]);
        hold_length(z, e);
    }
    return 0;
}
