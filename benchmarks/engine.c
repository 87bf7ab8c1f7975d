/* The yardstick for the compiled loops: the galactic orbit by RK4 and by Gauss(3), in C.

   The same arithmetic in the same order as the loops that catena generates, so that the final bits agree: compensated
   update, stages iterated until they stop changing, first guess from the polynomial of the last step. All sizes are
   literals, everything is visible to the compiler in one file, and nothing is done that the problem does not need.
   Gauss(3) stands here twice: `gauss3` in plain loops, which the compiler may vectorise, and `gauss3_vectors` with
   the stages side by side in vectors of four (GNU C), as one writes it by hand for speed. */

#include <math.h>

#define N 6
#define STAGES 3
#define LANES 4 /* of a vector: the stages and one more, of weight 0 */

enum { GO_ON, DONE, FAILED };

/* par: A, C, Om, a, b, c, 1/a^2, 1/b^2, 1/c^2 */
static inline void velocity(const double *restrict par, const double *z, double *rate)
{
    rate[0] = z[3] + par[2] * z[1];
    rate[1] = z[4] - par[2] * z[0];
    rate[2] = z[5];
}

static inline void momentum_rate(const double *restrict par, const double *z, double *rate)
{
    double inner = par[1] + par[6] * (z[0] * z[0]) + par[7] * (z[1] * z[1]) + par[8] * (z[2] * z[2]);
    double pull = 2.0 * par[0] / inner;
    rate[3] = par[2] * z[4] - pull * par[6] * z[0];
    rate[4] = -par[2] * z[3] - pull * par[7] * z[1];
    rate[5] = -pull * par[8] * z[2];
}

static inline void field(const double *restrict par, const double *z, double *rate)
{
    velocity(par, z, rate);
    momentum_rate(par, z, rate);
}

static inline void add(double *restrict z, double *restrict e, double d)
{
    double before = *z, after;
    d += *e;
    after = before + d;
    *e = d - (after - before);
    *z = after;
}

void rk4(double *restrict z, double *restrict e, double dt, long steps, const double *restrict par)
{
    for (long step = 0; step < steps; step++) {
        double r0[N], r1[N], r2[N], r3[N], y[N];
        field(par, z, r0);
        for (int k = 0; k < N; k++) y[k] = z[k] + dt * (0.5 * r0[k]);
        field(par, y, r1);
        for (int k = 0; k < N; k++) y[k] = z[k] + dt * (0.5 * r1[k]);
        field(par, y, r2);
        for (int k = 0; k < N; k++) y[k] = z[k] + dt * r2[k];
        field(par, y, r3);
        for (int k = 0; k < N; k++)
            add(z + k, e + k, dt * (1.0 / 6 * r0[k] + 1.0 / 3 * r1[k] + 1.0 / 3 * r2[k] + 1.0 / 6 * r3[k]));
    }
}

static inline int judge(double largest, double smallest, double *best, int *worse, int sweep)
{
    if (largest == 0.0) return DONE;
    if (!(largest < 1e300) || sweep >= 200) return FAILED;
    if (largest < *best) {
        *best = largest;
        *worse = 0;
        return GO_ON;
    }
    ++*worse;
    if (*worse > 1 && smallest > 1e-12 && largest > 5.0 * *best) return FAILED;
    if (largest <= 1e-14 || (smallest <= 1e-12 && *worse >= 3)) return DONE;
    return *worse >= 10 ? FAILED : GO_ON;
}

/* Plain loops --------------------------------------------------------------------------------------------------- */

typedef double Plain[N][STAGES];
typedef double PlainTable[2 * STAGES + 1][STAGES]; /* mu, extrapolation: a row for each j; b */

static inline double combination(const double *l, const double (*table)[STAGES], int i)
{
    return (table[0][i] * l[0] + table[1][i] * l[1]) + table[2][i] * l[2];
}

/* Y from L for the variables start..end; the largest change */
static inline double move(const double *restrict z, const double *restrict e, int start, int end, const PlainTable table,
                          Plain y, const Plain l)
{
    double lane[STAGES] = {0}, largest = 0;
    for (int k = start; k < end; k++)
        for (int i = 0; i < STAGES; i++) {
            double now = z[k] + (e[k] + combination(l[k], table, i));
            double seen = fabs(now - y[k][i]);
            lane[i] = seen > lane[i] ? seen : lane[i];
            y[k][i] = now;
        }
    for (int i = 0; i < STAGES; i++) largest = lane[i] > largest ? lane[i] : largest;
    return largest;
}

/* the same, before the first sweep; the largest magnitude, the start of the step included */
static inline double place(const double *restrict z, const double *restrict e, int start, int end, const PlainTable table,
                           Plain y, const Plain l)
{
    double lane[STAGES] = {0}, largest = 0;
    for (int k = start; k < end; k++) {
        double here = fabs(z[k] + e[k]);
        for (int i = 0; i < STAGES; i++) {
            y[k][i] = z[k] + (e[k] + combination(l[k], table, i));
            lane[i] = fabs(y[k][i]) > lane[i] ? fabs(y[k][i]) : lane[i];
        }
        largest = here > largest ? here : largest;
    }
    for (int i = 0; i < STAGES; i++) largest = lane[i] > largest ? lane[i] : largest;
    return largest;
}

/* L from Y: the positions (half = 0) or the momenta (half = 1) */
static inline void rates(int half, double dt, const double *restrict par, const PlainTable table, const Plain y, Plain l)
{
    for (int i = 0; i < STAGES; i++) {
        double state[N], rate[N], weight = dt * table[2 * STAGES][i];
        for (int k = 0; k < N; k++) state[k] = y[k][i];
        if (half == 0)
            velocity(par, state, rate);
        else
            momentum_rate(par, state, rate);
        for (int k = half * N / 2; k < (half + 1) * N / 2; k++) l[k][i] = weight * rate[k];
    }
}

/* returns the number of sweeps, or -1 if the stages do not converge */
long gauss3(double *restrict z, double *restrict e, double dt, long steps, const double *restrict par,
            const PlainTable table)
{
    Plain y, l = {{0}};
    long total = 0;
    for (long step = 0; step < steps; step++) {
        double best = INFINITY, weight[2];
        int worse = 0, sweep = 1, decision;
        if (step > 0)
            for (int k = 0; k < N; k++) {
                double guess[STAGES];
                for (int i = 0; i < STAGES; i++) guess[i] = combination(l[k], table + STAGES, i);
                for (int i = 0; i < STAGES; i++) l[k][i] = guess[i];
            }
        weight[0] = 1.0 / place(z, e, 0, N / 2, table, y, l);
        weight[1] = 1.0 / place(z, e, N / 2, N, table, y, l);
        do {
            double first, second;
            rates(0, dt, par, table, y, l);
            if (step == 0) rates(1, dt, par, table, y, l); /* nothing known: all rates, then all stages */
            first = weight[0] * move(z, e, 0, N / 2, table, y, l);
            if (step > 0) rates(1, dt, par, table, y, l);
            second = weight[1] * move(z, e, N / 2, N, table, y, l);
            decision = judge(fmax(first, second), fmin(first, second), &best, &worse, ++sweep);
        } while (decision == GO_ON);
        if (decision == FAILED) return -1;
        total += sweep;
        for (int k = 0; k < N; k++) add(z + k, e + k, l[k][0] + l[k][1] + l[k][2]);
    }
    return total;
}

/* Vectors ------------------------------------------------------------------------------------------------------- */

typedef double Row __attribute__((vector_size(8 * LANES)));
typedef long long Bits __attribute__((vector_size(8 * LANES)));
typedef Row Rows[N];

static inline Row larger(Row a, Row b)
{
    Bits first = a > b;
    return (Row)((first & (Bits)a) | (~first & (Bits)b));
}

static inline Row magnitude(Row a)
{
    return (Row)((Bits)a & 0x7fffffffffffffffLL);
}

static inline double largest_of(Row a)
{
    double largest = 0;
    for (int i = 0; i < LANES; i++) largest = a[i] > largest ? a[i] : largest;
    return largest;
}

static inline Row row_combination(Row l, const Row *table)
{
    return (table[0] * l[0] + table[1] * l[1]) + table[2] * l[2];
}

static inline double move_rows(const double *restrict z, const double *restrict e, int start, int end,
                               const Row *table, Rows y, const Rows l)
{
    Row lane = {0};
    for (int k = start; k < end; k++) {
        Row now = z[k] + (e[k] + row_combination(l[k], table));
        lane = larger(magnitude(now - y[k]), lane);
        y[k] = now;
    }
    return largest_of(lane);
}

static inline double place_rows(const double *restrict z, const double *restrict e, int start, int end,
                                const Row *table, Rows y, const Rows l)
{
    Row lane = {0}; /* the row is longer than the stages: its last lane is the start of the step */
    for (int k = start; k < end; k++) {
        y[k] = z[k] + (e[k] + row_combination(l[k], table));
        lane = larger(magnitude(y[k]), lane);
    }
    return largest_of(lane);
}

static inline void row_rates(int half, Row weight, const double *restrict par, const Rows z, Rows l)
{
    if (half == 0) {
        l[0] = weight * (z[3] + par[2] * z[1]);
        l[1] = weight * (z[4] - par[2] * z[0]);
        l[2] = weight * z[5];
    } else {
        Row inner = par[1] + par[6] * (z[0] * z[0]) + par[7] * (z[1] * z[1]) + par[8] * (z[2] * z[2]);
        Row pull = 2.0 * par[0] / inner;
        l[3] = weight * (par[2] * z[4] - pull * par[6] * z[0]);
        l[4] = weight * (-par[2] * z[3] - pull * par[7] * z[1]);
        l[5] = weight * (-pull * par[8] * z[2]);
    }
}

long gauss3_vectors(double *restrict z, double *restrict e, double dt, long steps, const double *restrict par,
                    const double *restrict coefficients)
{
    Rows y, l = {{0}};
    Row table[2 * STAGES + 1];
    long total = 0;
    for (int j = 0; j < 2 * STAGES + 1; j++)
        for (int i = 0; i < LANES; i++) table[j][i] = i < STAGES ? coefficients[j * STAGES + i] : 0.0;
    Row scaled = dt * table[2 * STAGES];
    for (long step = 0; step < steps; step++) {
        double best = INFINITY, weight[2];
        int worse = 0, sweep = 1, decision;
        if (step > 0)
            for (int k = 0; k < N; k++) l[k] = row_combination(l[k], table + STAGES);
        weight[0] = 1.0 / place_rows(z, e, 0, N / 2, table, y, l);
        weight[1] = 1.0 / place_rows(z, e, N / 2, N, table, y, l);
        do {
            double first, second;
            row_rates(0, scaled, par, y, l);
            if (step == 0) row_rates(1, scaled, par, y, l);
            first = weight[0] * move_rows(z, e, 0, N / 2, table, y, l);
            if (step > 0) row_rates(1, scaled, par, y, l);
            second = weight[1] * move_rows(z, e, N / 2, N, table, y, l);
            decision = judge(fmax(first, second), fmin(first, second), &best, &worse, ++sweep);
        } while (decision == GO_ON);
        if (decision == FAILED) return -1;
        total += sweep;
        for (int k = 0; k < N; k++) add(z + k, e + k, l[k][0] + l[k][1] + l[k][2]);
    }
    return total;
}
