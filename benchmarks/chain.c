/* Baselines of chain.py: the tiled sweep in its own layout, and the forces of a chain particle by particle.

   Compile with -DLANES=64 -DORDER=... (number of the axis order) and, for the sweep with fused multiply-adds, -DFUSED.
   The sweep makes the operations of catena in the same order: its results have the same bits. */
#include <math.h>

#ifndef LANES
#define LANES 64
#endif
#ifndef ORDER
#define ORDER 0
#endif
#ifdef FUSED
#define MA(a, b, c) __builtin_fma(a, b, c)
#else
#define MA(a, b, c) ((a) * (b) + (c))
#endif

enum { N = LANES + 8, P = 0, Y = 3, LOW_P = 6, LOW_Y = 9, LOW_R = 12, LOW_Q = 15, F = 19, T = 22, S = 25, R = 28, Q = 31, X = 35 };
enum { FIXED = X + 12, INVERSE_MASS = FIXED, MOVES = FIXED + 1, TURNS = FIXED + 2, LINKED = FIXED + 3, LOAD = FIXED + 4,
       PARTICLES = FIXED + 7, SPIN = PARTICLES + 12, ROWS = SPIN + 33 };
#define AT(row) ((row) * N + i)
#define HOLD 0x1p-11

#define GAIN(high, low, change) do { double d_ = (change) + w[low], before_ = w[high], after_ = before_ + d_; \
    w[low] = d_ - (after_ - before_); w[high] = after_; } while (0)

static inline double sine_over(double z) {
    double p = MA(z, -1.0 / 39916800.0, 1.0 / 362880.0);
    p = MA(z, p, -1.0 / 5040.0); p = MA(z, p, 1.0 / 120.0); p = MA(z, p, -1.0 / 6.0);
    return MA(z, p, 1.0);
}

static inline double cosine_less_one(double z) {
    double p = MA(z, 1.0 / 479001600.0, -1.0 / 3628800.0);
    p = MA(z, p, 1.0 / 40320.0); p = MA(z, p, -1.0 / 720.0); p = MA(z, p, 1.0 / 24.0);
    return z * MA(z, p, -0.5);
}

static inline void planar(double a, double u, double v, double *s, double *c, double *du, double *dv) {
    double z = a * a, sine, cosine, twice;
    *s = a * sine_over(z); *c = cosine_less_one(z);
    twice = *s + *s; sine = MA(twice, *c, twice); cosine = -twice * *s;
    *du = MA(cosine, u, sine * v); *dv = MA(cosine, v, -sine * u);
}

static long kick(double *restrict w, double push, double glide) {
    long fast = 0;
#pragma GCC ivdep
    for (int i = 0; i < LANES; i++) {
        double a = push * w[AT(MOVES)];
        GAIN(AT(P), AT(LOW_P), a * (w[AT(F)] - w[AT(F) - 1] + w[AT(LOAD)]));
        GAIN(AT(P + 1), AT(LOW_P + 1), a * (w[AT(F + 1)] - w[AT(F + 1) - 1] + w[AT(LOAD + 1)]));
        GAIN(AT(P + 2), AT(LOW_P + 2), a * (w[AT(F + 2)] - w[AT(F + 2) - 1] + w[AT(LOAD + 2)]));
        a = push * w[AT(TURNS)];
        double q0 = w[AT(Q)], b = w[AT(Q + 1)], c = w[AT(Q + 2)], d = w[AT(Q + 3)];
        double x = a * (w[AT(S)] - w[AT(T) - 1]), y = a * (w[AT(S + 1)] - w[AT(T + 1) - 1]);
        double z = a * (w[AT(S + 2)] - w[AT(T + 2) - 1]);
        double t1 = 2.0 * (c * z - d * y), t2 = 2.0 * (d * x - b * z), t3 = 2.0 * (b * y - c * x);
        GAIN(AT(Y), AT(LOW_Y), x - q0 * t1 + (c * t3 - d * t2));
        GAIN(AT(Y + 1), AT(LOW_Y + 1), y - q0 * t2 + (d * t1 - b * t3));
        GAIN(AT(Y + 2), AT(LOW_Y + 2), z - q0 * t3 + (b * t2 - c * t1));
        double y1 = w[AT(Y)], y2 = w[AT(Y + 1)], y3 = w[AT(Y + 2)];
        fast += w[AT(SPIN)] * (glide * glide) * (y1 * y1 + y2 * y2 + y3 * y3) >= 1.0;
    }
    return fast;
}

static void drift(double *restrict w, double h) {
#pragma GCC ivdep
    for (int i = 0; i < LANES; i++) {
        double a = h * w[AT(INVERSE_MASS)];
        GAIN(AT(R), AT(LOW_R), a * w[AT(P)]);
        GAIN(AT(R + 1), AT(LOW_R + 1), a * w[AT(P + 1)]);
        GAIN(AT(R + 2), AT(LOW_R + 2), a * w[AT(P + 2)]);
        double q0 = w[AT(Q)], q1 = w[AT(Q + 1)], q2 = w[AT(Q + 2)], q3 = w[AT(Q + 3)];
        double y[3] = {w[AT(Y)], w[AT(Y + 1)], w[AT(Y + 2)]}, u, v, e;
#if ORDER == 0
        u = y[0]; v = y[1]; e = y[2];
#elif ORDER == 1
        u = y[1]; v = y[2]; e = y[0];
#elif ORDER == 2
        u = y[2]; v = y[0]; e = y[1];
#elif ORDER == 3
        u = y[0]; v = y[2]; e = -y[1];
#elif ORDER == 4
        u = y[1]; v = y[0]; e = -y[2];
#else
        u = y[2]; v = y[1]; e = -y[0];
#endif
        double before = 0.25 * h * w[AT(SPIN + 1)], s1, c1, w1, u1, s2, c2, u2, v2, s3, c3, w3, u3;
        planar(before * v, e, u, &s1, &c1, &w1, &u1);
        e += w1; u += u1;
        double k = 0.5 * h * w[AT(SPIN + 2)], b1 = k * u, b2 = k * v, b3 = k * e;
        double z = MA(b3, b3, MA(b2, b2, b1 * b1)), b0 = cosine_less_one(z);
        k = sine_over(z); b1 *= k; b2 *= k; b3 *= k;
        double a0 = MA(c1, b0, MA(-s1, b2, c1 + b0)), a1 = MA(c1, b1, MA(s1, b3, b1));
        double a2 = MA(c1, b2, MA(s1, b0, s1 + b2)), a3 = MA(c1, b3, MA(-s1, b1, b3));
        planar(0.5 * h * w[AT(SPIN + 3)] * e, u, v, &s2, &c2, &u2, &v2);
        u += u2; v += v2;
        b0 = MA(a0, c2, MA(-a3, s2, a0 + c2)); b1 = MA(a1, c2, MA(a2, s2, a1));
        b2 = MA(a2, c2, MA(-a1, s2, a2)); b3 = MA(a3, c2, MA(a0, s2, a3 + s2));
        planar(before * v, e, u, &s3, &c3, &w3, &u3);
        a0 = MA(b0, c3, MA(-b2, s3, b0 + c3)); a1 = MA(b1, c3, MA(-b3, s3, b1));
        a2 = MA(b2, c3, MA(b0, s3, b2 + s3)); a3 = MA(b3, c3, MA(b1, s3, b3));
        double du = u1 + u2 + u3, dv = v2, de = w1 + w3, b, c, d, d1, d2, d3;
#if ORDER == 0
        b = a1; c = a2; d = a3; d1 = du; d2 = dv; d3 = de;
#elif ORDER == 1
        b = a3; c = a1; d = a2; d1 = de; d2 = du; d3 = dv;
#elif ORDER == 2
        b = a2; c = a3; d = a1; d1 = dv; d2 = de; d3 = du;
#elif ORDER == 3
        b = a1; c = -a3; d = a2; d1 = du; d2 = -de; d3 = dv;
#elif ORDER == 4
        b = a2; c = a1; d = -a3; d1 = dv; d2 = du; d3 = -de;
#else
        b = -a3; c = a2; d = a1; d1 = -de; d2 = dv; d3 = du;
#endif
        double square = MA(q3, q3, MA(q2, q2, MA(q1, q1, q0 * q0)));
        a0 += HOLD * w[AT(TURNS)] * (1.0 - square);
        GAIN(AT(Q), AT(LOW_Q), MA(-q3, d, MA(-q2, c, MA(-q1, b, q0 * a0))));
        GAIN(AT(Q + 1), AT(LOW_Q + 1), MA(-q3, c, MA(q2, d, MA(q1, a0, q0 * b))));
        GAIN(AT(Q + 2), AT(LOW_Q + 2), MA(-q1, d, MA(q3, b, MA(q2, a0, q0 * c))));
        GAIN(AT(Q + 3), AT(LOW_Q + 3), MA(-q2, b, MA(q1, c, MA(q3, a0, q0 * d))));
        GAIN(AT(Y), AT(LOW_Y), d1);
        GAIN(AT(Y + 1), AT(LOW_Y + 1), d2);
        GAIN(AT(Y + 2), AT(LOW_Y + 2), d3);
        q0 = w[AT(Q)]; b = w[AT(Q + 1)]; c = w[AT(Q + 2)]; d = w[AT(Q + 3)];
        double r[9] = {1.0 - 2.0 * (c * c + d * d), 2.0 * (b * c - q0 * d), 2.0 * (b * d + q0 * c),
                       2.0 * (b * c + q0 * d), 1.0 - 2.0 * (b * b + d * d), 2.0 * (c * d - q0 * b),
                       2.0 * (b * d - q0 * c), 2.0 * (c * d + q0 * b), 1.0 - 2.0 * (b * b + c * c)};
        for (int p = 0; p < 4; p++)
            for (int x = 0; x < 3; x++)
                w[AT(X + 3 * p + x)] = MA(r[3 * x + 2], w[AT(PARTICLES + 3 * p + 2)],
                    MA(r[3 * x + 1], w[AT(PARTICLES + 3 * p + 1)], r[3 * x] * w[AT(PARTICLES + 3 * p)]));
    }
}

static void links(double *restrict w, const double *restrict pair) {
    double c0 = pair[0], c1 = pair[1];
#pragma GCC ivdep
    for (int i = 0; i < LANES; i++) {
        double d0 = w[AT(R)] - w[AT(R) + 1], d1 = w[AT(R + 1)] - w[AT(R + 1) + 1], d2 = w[AT(R + 2)] - w[AT(R + 2) + 1];
        double f0 = 0, f1 = 0, f2 = 0, t0 = 0, t1 = 0, t2 = 0;
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            double a0 = w[AT(X + 3 * k)] + d0, a1 = w[AT(X + 3 * k + 1)] + d1, a2 = w[AT(X + 3 * k + 2)] + d2;
            double w0 = 0, w1 = 0, w2 = 0;
#pragma GCC unroll 4
            for (int l = 0; l < 4; l++) {
                double x0 = a0 - w[AT(X + 3 * l) + 1], x1 = a1 - w[AT(X + 3 * l + 1) + 1], x2 = a2 - w[AT(X + 3 * l + 2) + 1];
                double inverse = 1.0 / MA(x2, x2, MA(x1, x1, x0 * x0)), u = c0 * inverse, u3 = u * u * u;
                double g = c1 * (2.0 * u3 * u3 - u3) * inverse;
                w0 = l ? MA(g, x0, w0) : g * x0; w1 = l ? MA(g, x1, w1) : g * x1; w2 = l ? MA(g, x2, w2) : g * x2;
            }
            f0 = k ? f0 + w0 : w0; f1 = k ? f1 + w1 : w1; f2 = k ? f2 + w2 : w2;
            t0 = MA(-a2, w1, k ? MA(a1, w2, t0) : a1 * w2);
            t1 = MA(-a0, w2, k ? MA(a2, w0, t1) : a2 * w0);
            t2 = MA(-a1, w0, k ? MA(a0, w1, t2) : a0 * w1);
        }
        int linked = w[AT(LINKED)] > 0.0;
        double s0 = MA(d2, f1, MA(-d1, f2, t0)), s1 = MA(d0, f2, MA(-d2, f0, t1)), s2 = MA(d1, f0, MA(-d0, f1, t2));
        w[AT(F)] = linked ? f0 : 0.0; w[AT(F + 1)] = linked ? f1 : 0.0; w[AT(F + 2)] = linked ? f2 : 0.0;
        w[AT(T)] = linked ? t0 : 0.0; w[AT(T + 1)] = linked ? t1 : 0.0; w[AT(T + 2)] = linked ? t2 : 0.0;
        w[AT(S)] = linked ? s0 : 0.0; w[AT(S + 1)] = linked ? s1 : 0.0; w[AT(S + 2)] = linked ? s2 : 0.0;
    }
}

static void link_tile(double *z, long t, long tiles, const double *pair) {
    double *w = z + t * ROWS * N, *v = w + ROWS * N;
    if (t + 1 == tiles) { links(w, pair); return; }
    for (int c = 0; c < 3; c++) w[(R + c) * N + LANES] = v[(R + c) * N];
    for (int c = 0; c < 12; c++) w[(X + c) * N + LANES] = v[(X + c) * N];
    links(w, pair);
    for (int c = 0; c < 6; c++) v[(F + c) * N - 1] = w[(F + c) * N + LANES - 1];
}

/* Strang steps on the array of catena's view "tiles", its constants and forces in place; 1 if a body is too fast. */
int strang(double *z, long tiles, long steps, double dt, const double *pair) {
    double *pending = z + tiles * ROWS * N + 1;
    for (long step = 0; step < steps; step++) {
        for (long t = 0; t < tiles; t++) {
            if (kick(z + t * ROWS * N, *pending + 0.5 * dt, dt)) return 1;
            drift(z + t * ROWS * N, dt);
            if (t > 0) link_tile(z, t - 1, tiles, pair);
        }
        link_tile(z, tiles - 1, tiles, pair);
        *pending = 0.5 * dt;
    }
    return 0;
}

/* Forces and torques of a chain, particle by particle: structure of arrays, the inner loop over the right body. */
static void rotation(const double *q, double *r) {
    double a = q[0], b = q[1], c = q[2], d = q[3], s = 2 / (a * a + b * b + c * c + d * d);
    r[0] = 1 - s * (c * c + d * d); r[1] = s * (b * c - a * d); r[2] = s * (b * d + a * c);
    r[3] = s * (b * c + a * d); r[4] = 1 - s * (b * b + d * d); r[5] = s * (c * d - a * b);
    r[6] = s * (b * d - a * c); r[7] = s * (c * d + a * b); r[8] = 1 - s * (b * b + c * c);
}

void forces(long repeats, long n, long m, const double *r, const double *q, const double *body, const double *pair,
            double *f, double *tau, double *restrict x, double *restrict w) {
    long all = n * m;
    double *restrict x0 = x, *restrict x1 = x + all, *restrict x2 = x + 2 * all;
    double *restrict w0 = w, *restrict w1 = w + all, *restrict w2 = w + 2 * all;
    for (long repeat = 0; repeat < repeats; repeat++) {
        for (long j = 0; j < n; j++) {
            double o[9];
            rotation(q + 4 * j, o);
            for (long k = 0; k < m; k++) {
                long a = j * m + k;
                const double *b = body + 3 * k;
                x0[a] = r[3 * j] + o[0] * b[0] + o[1] * b[1] + o[2] * b[2];
                x1[a] = r[3 * j + 1] + o[3] * b[0] + o[4] * b[1] + o[5] * b[2];
                x2[a] = r[3 * j + 2] + o[6] * b[0] + o[7] * b[1] + o[8] * b[2];
                w0[a] = w1[a] = w2[a] = 0;
            }
        }
        double square = pair[0], strength = pair[1];
        for (long j = 0; j < n - 1; j++)
            for (long k = 0; k < m; k++) {
                long a = j * m + k, b = (j + 1) * m;
                double p0 = x0[a], p1 = x1[a], p2 = x2[a], a0 = 0, a1 = 0, a2 = 0;
                for (long l = 0; l < m; l++) {
                    double d0 = p0 - x0[b + l], d1 = p1 - x1[b + l], d2 = p2 - x2[b + l];
                    double i = 1 / (d0 * d0 + d1 * d1 + d2 * d2), u = square * i, u3 = u * u * u;
                    double g = strength * (2 * u3 * u3 - u3) * i;
                    a0 += g * d0; a1 += g * d1; a2 += g * d2;
                    w0[b + l] -= g * d0; w1[b + l] -= g * d1; w2[b + l] -= g * d2;
                }
                w0[a] += a0; w1[a] += a1; w2[a] += a2;
            }
        for (long j = 0; j < n; j++) {
            double o[9], f0 = 0, f1 = 0, f2 = 0, t0 = 0, t1 = 0, t2 = 0;
            rotation(q + 4 * j, o);
            for (long k = 0; k < m; k++) {
                long a = j * m + k;
                const double *b = body + 3 * k;
                double u = w0[a], v = w1[a], y = w2[a];
                f0 += u; f1 += v; f2 += y;
                double b0 = o[0] * u + o[3] * v + o[6] * y, b1 = o[1] * u + o[4] * v + o[7] * y;
                double b2 = o[2] * u + o[5] * v + o[8] * y;
                t0 += b[1] * b2 - b[2] * b1; t1 += b[2] * b0 - b[0] * b2; t2 += b[0] * b1 - b[1] * b0;
            }
            f[3 * j] = f0; f[3 * j + 1] = f1; f[3 * j + 2] = f2;
            tau[3 * j] = t0; tau[3 * j + 1] = t1; tau[3 * j + 2] = t2;
        }
    }
}

/* The same from the forces on the left body of each link alone: forces are central, so they say what acts on the right one. */
void forces_of_left(long repeats, long n, long m, const double *r, const double *q, const double *body, const double *pair,
                    double *f, double *tau, double *restrict x, double *restrict w) {
    long all = n * m;
    double *restrict x0 = x, *restrict x1 = x + all, *restrict x2 = x + 2 * all;
    double *restrict w0 = w, *restrict w1 = w + m, *restrict w2 = w + 2 * m;
    double square = pair[0], strength = pair[1];
    for (long repeat = 0; repeat < repeats; repeat++) {
        for (long j = 0; j < n; j++) {
            double o[9];
            rotation(q + 4 * j, o);
            for (long k = 0; k < m; k++) {
                long a = j * m + k;
                const double *b = body + 3 * k;
                x0[a] = o[0] * b[0] + o[1] * b[1] + o[2] * b[2];
                x1[a] = o[3] * b[0] + o[4] * b[1] + o[5] * b[2];
                x2[a] = o[6] * b[0] + o[7] * b[1] + o[8] * b[2];
            }
        }
        double g0 = 0, g1 = 0, g2 = 0, u0 = 0, u1 = 0, u2 = 0;
        for (long j = 0; j < n; j++) {
            double o[9], f0 = 0, f1 = 0, f2 = 0, t0 = 0, t1 = 0, t2 = 0, d0 = 0, d1 = 0, d2 = 0;
            if (j < n - 1) {
                const double *a0 = x0 + j * m, *a1 = x1 + j * m, *a2 = x2 + j * m;
                d0 = r[3 * j] - r[3 * j + 3]; d1 = r[3 * j + 1] - r[3 * j + 4]; d2 = r[3 * j + 2] - r[3 * j + 5];
                for (long k = 0; k < m; k++) w0[k] = w1[k] = w2[k] = 0;
                for (long l = (j + 1) * m; l < (j + 2) * m; l++) {
                    double y0 = x0[l] - d0, y1 = x1[l] - d1, y2 = x2[l] - d2;
                    for (long k = 0; k < m; k++) {
                        double e0 = a0[k] - y0, e1 = a1[k] - y1, e2 = a2[k] - y2;
                        double i = 1 / (e0 * e0 + e1 * e1 + e2 * e2), u = square * i, u3 = u * u * u;
                        double g = strength * (2 * u3 * u3 - u3) * i;
                        w0[k] += g * e0; w1[k] += g * e1; w2[k] += g * e2;
                    }
                }
                for (long k = 0; k < m; k++) {
                    f0 += w0[k]; f1 += w1[k]; f2 += w2[k];
                    t0 += a1[k] * w2[k] - a2[k] * w1[k];
                    t1 += a2[k] * w0[k] - a0[k] * w2[k];
                    t2 += a0[k] * w1[k] - a1[k] * w0[k];
                }
            }
            f[3 * j] = f0 + g0; f[3 * j + 1] = f1 + g1; f[3 * j + 2] = f2 + g2;
            u0 += t0; u1 += t1; u2 += t2;
            rotation(q + 4 * j, o);
            tau[3 * j] = o[0] * u0 + o[3] * u1 + o[6] * u2;
            tau[3 * j + 1] = o[1] * u0 + o[4] * u1 + o[7] * u2;
            tau[3 * j + 2] = o[2] * u0 + o[5] * u1 + o[8] * u2;
            g0 = -f0; g1 = -f1; g2 = -f2;
            u0 = d2 * f1 - d1 * f2 - t0; u1 = d0 * f2 - d2 * f0 - t1; u2 = d1 * f0 - d0 * f1 - t2;
        }
    }
}
