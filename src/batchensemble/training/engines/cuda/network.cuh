// What the kernels share: a cluster of blocks is a network, a block some of its members. Arrays of
// activations are by feature, so that rows of the batch lie side by side.
//
// `constants.py` writes the constants that come before this text: the shape of the network, where its
// parameters are, and how it is trained.

constexpr int THREADS = 256;
constexpr int TALL = 2;                     // of a tile of a product, which is four rows wide
constexpr int LANES = THREADS / 32;         // threads that share a sum in `unfold`
constexpr int CHUNK = 64;                   // rows at a time
constexpr int STRIDE = CHUNK + 4;           // so that rows of features begin in different banks
constexpr int N_CHUNKS = (ROWS + CHUNK - 1) / CHUNK;
constexpr int ROUNDS = (N_MEMBERS + BLOCKS - 1) / BLOCKS;
constexpr int SLICE = (N_SHARED + BLOCKS - 1) / BLOCKS;
constexpr int KEPT = OUTSIDE ? 1 : SLICE;  // moments that are on the chip
constexpr int VECTORS = N_OWN_RUNS ? N_OWN_RUNS * N_MEMBERS : 1;  // that the penalty is about

__host__ __device__ constexpr int padded(int n) { return (n + 3) / 4 * 4; }
__host__ __device__ constexpr int stride_of(int n) { return padded(n) + 4; }  // of rows of weights

// Sums over layers, known when this is compiled.
__host__ __device__ constexpr int by_out_before(int layer) {
    int n = 0;
    for (int l = FIRST_BACK; l < layer; l++) n += padded(N_OUT[l]) * stride_of(N_IN[l]);
    return n;
}
__host__ __device__ constexpr int by_in_before(int layer) {
    int n = 0;
    for (int l = 0; l < layer; l++) n += padded(N_IN[l]) * stride_of(N_OUT[l]);
    return n;
}
__host__ __device__ constexpr int outs_before(int layer) {
    int n = 0;
    for (int l = 0; l < layer; l++) n += padded(N_OUT[l]);
    return n;
}
__host__ __device__ constexpr int g_before(int layer) {  // of gradients of effective weights
    int n = 0;
    for (int l = 0; l < layer; l++) n += N_OUT[l] * (N_IN[l] + 1);
    return n;
}

// What the orthogonality penalty needs: all members' vectors, and the cosines of this block's.
template <bool>
struct alignas(16) Gram {
    float every[N_MEMBERS][N_OWN + 1];
    float inverse[VECTORS];                            // of their lengths
    float cosine[ROUNDS][VECTORS];
};
template <>
struct Gram<false> {};

// What a block has of a network.
struct Network : Gram<HAS_PENALTY> {
    float by_out[by_out_before(N_LAYERS)];             // a member's effective weights, (out, in)
    float by_in[by_in_before(N_LAYERS)];               // and (in, out)
    float bias[outs_before(N_LAYERS)];
    float shared[N_SHARED], d_shared[N_SHARED];        // what members share
    float moment1[KEPT], moment2[KEPT];
    float own[ROUNDS][N_OWN + 1], d_own[ROUNDS][N_OWN + 1];
    float own1[ROUNDS][N_OWN + 1], own2[ROUNDS][N_OWN + 1];
    float partial[THREADS / 32][2];
    float of_block[BLOCKS][2];                         // squared norm and loss of every block
};

// ---- the cluster ----------------------------------------------------------------------------------

__device__ __forceinline__ int rank_in_cluster() {
    int rank = 0;
    if constexpr (BLOCKS > 1) asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ void sync_network() {
    if constexpr (BLOCKS > 1) {
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    } else {
        __syncthreads();
    }
}
__device__ __forceinline__ unsigned place_in(const float* here, int block) {
    unsigned local = (unsigned)__cvta_generic_to_shared(here), there = local;
    if constexpr (BLOCKS > 1) asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(local), "r"(block));
    return there;
}
__device__ __forceinline__ float read_from(const float* here, int block) {
    if constexpr (BLOCKS == 1) {
        return *here;
    } else {
        float value;
        asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(place_in(here, block)));
        return value;
    }
}
__device__ __forceinline__ void write_to(float* here, int block, float value) {
    if constexpr (BLOCKS == 1) {
        *here = value;
    } else {
        asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(place_in(here, block)), "f"(value)
                     : "memory");
    }
}

// ---- copies that others wait for later ------------------------------------------------------------

__device__ __forceinline__ void copy_later(float* to, const float* from) {
    unsigned there = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(there), "l"(from) : "memory");
}
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// ---- products -------------------------------------------------------------------------------------

__device__ __forceinline__ float2 two(const float* at) { return *reinterpret_cast<const float2*>(at); }
__device__ __forceinline__ float4 four(const float* at) { return *reinterpret_cast<const float4*>(at); }
__device__ __forceinline__ void set_four(float* at, const float* v) {
    *reinterpret_cast<float4*>(at) = make_float4(v[0], v[1], v[2], v[3]);
}

// sums over k of weight[k][m] * x[k][row]; `done(m, row, sums)` takes four rows of one m.
template <int M, int K, class Done>
__device__ __forceinline__ void product(const float* weight, const float* x, Done done) {
    constexpr int TILES = (M + 4 * TALL - 1) / (4 * TALL);  // of four tiles one below the other
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int unit = warp; unit < 2 * TILES; unit += THREADS / 32) {
        // Neighbouring lanes read the same rows, which costs less.
        const int m = (unit / 2 * 4 + lane % 4) * TALL, row = unit % 2 * 32 + lane / 4 * 4;
        if (m >= M) continue;
        float sums[TALL][4] = {};
#pragma unroll 16
        for (int k = 0; k < K; k++) {
            const float2 w = two(weight + k * stride_of(M) + m);
            const float ws[TALL] = {w.x, w.y};
            const float4 v = four(x + k * STRIDE + row);
#pragma unroll
            for (int i = 0; i < TALL; i++) {
                sums[i][0] += ws[i] * v.x;
                sums[i][1] += ws[i] * v.y;
                sums[i][2] += ws[i] * v.z;
                sums[i][3] += ws[i] * v.w;
            }
        }
#pragma unroll
        for (int i = 0; i < TALL; i++)
            if (m + i < M) done(m + i, row, sums[i]);
    }
}

// g[j][k] = sum over rows of d[j][row] * a[k][row], or added to it
template <int J, int K, bool ADD = false>
__device__ __forceinline__ void outer(const float* d, const float* a, float* g) {
    constexpr int JT = (J + 3) / 4, KT = (K + 3) / 4, TILES = JT * KT;
    constexpr int FREE = THREADS / TILES;
    constexpr int SPLIT = FREE >= 16 ? 16 : FREE >= 8 ? 8 : FREE >= 4 ? 4 : FREE >= 2 ? 2 : 1;
    const int part = threadIdx.x % SPLIT;
    // All threads of a warp go through the loop together, for the shuffles.
    for (int first = 0; first < TILES; first += THREADS / SPLIT) {
        const int tile = first + threadIdx.x / SPLIT;
        const bool is_one = tile < TILES;
        const int jt = is_one ? tile / KT : 0, kt = is_one ? tile % KT : 0;
        float sums[4][4] = {};
#pragma unroll 2
        for (int quad = part; quad < CHUNK / 4; quad += SPLIT) {
            float4 ds[4], as[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int j = jt + JT * i, k = kt + KT * i;
                ds[i] = four(d + (j < J ? j : 0) * STRIDE + quad * 4);
                as[i] = four(a + (k < K ? k : 0) * STRIDE + quad * 4);
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    sums[i][k] += ds[i].x * as[k].x + ds[i].y * as[k].y + ds[i].z * as[k].z + ds[i].w * as[k].w;
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
#pragma unroll
                for (int step = 1; step < SPLIT; step *= 2)
                    sums[i][k] += __shfl_xor_sync(0xffffffffu, sums[i][k], step);
                const int j = jt + JT * i, c = kt + KT * k;
                if (is_one && part == 0 && j < J && c < K) {
                    float& to = g[j * (K + 1) + c];
                    to = ADD ? to + sums[i][k] : sums[i][k];
                }
            }
    }
}

// ---- dropout and losses ---------------------------------------------------------------------------

__device__ __forceinline__ bool is_kept(unsigned unit, unsigned key) {
    unsigned x = unit + key;
    x ^= x >> SHIFT1;
    x *= FACTOR1;
    x ^= x >> SHIFT2;
    x *= FACTOR2;
    x ^= x >> SHIFT3;
    return (int)x >= THRESHOLD;
}
__device__ __forceinline__ float softplus(float x) { return fmaxf(x, 0.f) + log1pf(expf(-fabsf(x))); }
__device__ __forceinline__ float sigmoid(float x) { return 1.f / (1.f + expf(-x)); }
__device__ __forceinline__ float tanh_of(float x) { return 2.f * sigmoid(2.f * x) - 1.f; }

// The loss of a row, and its gradient in place of the outputs.
__device__ __forceinline__ float gaussian(float* out, float y, float weight) {
    const float raw = out[STRIDE];
    float log_variance = raw, slope = 1.f;
    if (!IS_FREE) {
        const float inner = HIGH - softplus(HIGH - raw) - LOW;
        log_variance = LOW + softplus(inner) * STRETCH;
        slope = sigmoid(HIGH - raw) * sigmoid(inner) * STRETCH;
    }
    const float error = out[0] - y, precision = expf(-log_variance);
    if (BETA > 0.f) weight *= expf(BETA * log_variance);
    const float scaled = error * error * precision;
    out[0] = weight * error * precision;
    out[STRIDE] = weight * 0.5f * (1.f - scaled) * slope;
    return weight * 0.5f * (log_variance + scaled);
}
__device__ __forceinline__ float categorical(float* out, float y, float weight) {
    constexpr int CLASSES = N_OUT[N_LAYERS - 1];
    float largest = out[0], norm = 0.f;
    for (int c = 1; c < CLASSES; c++) largest = fmaxf(largest, out[c * STRIDE]);
    for (int c = 0; c < CLASSES; c++) norm += expf(out[c * STRIDE] - largest);
    const int own = (int)y;
    const float loss = weight * (logf(norm) + largest - out[own * STRIDE]);
    for (int c = 0; c < CLASSES; c++)
        out[c * STRIDE] = weight * (expf(out[c * STRIDE] - largest) / norm - (c == own));
    return loss;
}

// ---- a member -------------------------------------------------------------------------------------

// A part of a layer: all of it, a head, a gate; its place among the outputs and inputs of its layer.
template <int P>
__device__ __forceinline__ float r_of(const float* own, int k) { return R_AT[P] < 0 ? 1.f : own[R_AT[P] + k]; }
template <int P>
__device__ __forceinline__ float s_of(const float* own, int j) { return S_AT[P] < 0 ? 1.f : own[S_AT[P] + j]; }

template <int P>
__device__ void fold(Network& m, const float* own) {
    if constexpr (P < N_PARTS) {
        constexpr int L = LAYER_OF[P], IN = PART_IN[P], OUT = PART_OUT[P];
        constexpr int FIRST = FIRST_OUT[P], BEGIN = FIRST_IN[P];
        float* by_out = m.by_out + by_out_before(L) + BEGIN;
        float* by_in = m.by_in + by_in_before(L) + BEGIN * stride_of(N_OUT[L]);
        for (int e = threadIdx.x; e < IN * OUT; e += THREADS) {
            const int j = e / IN, k = e % IN;
            const float w = m.shared[W_AT[P] + e] * s_of<P>(own, j) * r_of<P>(own, k);
            if (L >= FIRST_BACK) by_out[(FIRST + j) * stride_of(N_IN[L]) + k] = w;
            by_in[k * stride_of(N_OUT[L]) + FIRST + j] = w;
        }
        for (int j = threadIdx.x; j < OUT; j += THREADS) {
            const float bias = B_OWN[P] ? own[B_AT[P] + j] : m.shared[B_AT[P] + j];
            float& to = m.bias[outs_before(L) + FIRST + j];
            to = IS_ADDED[P] ? to + bias : bias;  // to what the same thread has written
        }
        fold<P + 1>(m, own);
    }
}

// Add the gradient of a part's effective weight, in that of its layer, g (out, in), to those of its
// parameters. `bias_of(j, lane)` is what a lane has of the gradient of the layer's bias j.
template <int P, class BiasOf>
__device__ void unfold(Network& m, const float* own, float* d_own, const float* of_layer, BiasOf bias_of) {
    constexpr int L = LAYER_OF[P], IN = PART_IN[P], OUT = PART_OUT[P], FIRST = FIRST_OUT[P];
    constexpr int NEXT = N_IN[L] + 1;  // row of g
    const float* g = of_layer + FIRST * NEXT + FIRST_IN[P];
    const float* weight = m.shared + W_AT[P];
    const int lane = threadIdx.x % LANES;
    // Some threads a row; all threads of a warp stay together, for the shuffles.
    for (int first = 0; first < OUT; first += 32) {
        const int j = first + threadIdx.x / LANES;
        float by_r = 0.f, sum = 0.f;
        if (j < OUT) {
            const float s = s_of<P>(own, j);
#pragma unroll 8
            for (int k = lane; k < IN; k += LANES) {
                const float value = g[j * NEXT + k], r = r_of<P>(own, k);
                m.d_shared[W_AT[P] + j * IN + k] += value * s * r;
                by_r += value * weight[j * IN + k] * r;
            }
            sum = bias_of(FIRST + j, lane);
        }
#pragma unroll
        for (int step = 1; step < LANES; step *= 2) {
            by_r += __shfl_xor_sync(0xffffffffu, by_r, step);
            sum += __shfl_xor_sync(0xffffffffu, sum, step);
        }
        if (j < OUT && lane == 0) {
            if (S_AT[P] >= 0) d_own[S_AT[P] + j] += by_r;
            if (B_OWN[P]) d_own[B_AT[P] + j] += sum;
            else m.d_shared[B_AT[P] + j] += sum;
        }
    }
    if (R_AT[P] >= 0)
        for (int first = 0; first < IN; first += 32) {
            const int k = first + threadIdx.x / LANES;
            float by_s = 0.f;
            if (k < IN)
#pragma unroll 8
                for (int j = lane; j < OUT; j += LANES)
                    by_s += g[j * NEXT + k] * weight[j * IN + k] * s_of<P>(own, j);
#pragma unroll
            for (int step = 1; step < LANES; step *= 2) by_s += __shfl_xor_sync(0xffffffffu, by_s, step);
            if (k < IN && lane == 0) d_own[R_AT[P] + k] += by_s;
        }
}
template <int P, int L, class BiasOf>
__device__ void unfold_layer(Network& m, const float* own, float* d_own, const float* g, BiasOf bias_of) {
    if constexpr (P < N_PARTS) {
        if constexpr (LAYER_OF[P] == L) unfold<P>(m, own, d_own, g, bias_of);
        unfold_layer<P + 1, L>(m, own, d_own, g, bias_of);
    }
}

// ---- layers of a member ---------------------------------------------------------------------------

// A hidden layer: ReLU, and dropout where units are numbered from `first_unit`, so many a row.
template <int L, int UNITS_OF_ROW>
__device__ __forceinline__ void hidden_layer(const Network& m, const float* x, float* to, unsigned first_unit,
                                             unsigned key) {
    product<N_OUT[L], N_IN[L]>(m.by_in + by_in_before(L), x, [&](int j, int row, const float* z) {
        const float bias = m.bias[outs_before(L) + j];
        float v[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v[i] = fmaxf((z[i] + bias) * SCALE, 0.f);
            const unsigned unit = first_unit + (unsigned)(row + i) * UNITS_OF_ROW + UNIT[L] + j;
            if (HAS_DROPOUT && !is_kept(unit, key)) v[i] = 0.f;
        }
        set_four(to + j * STRIDE + row, v);
    });
}

// The last layer, of few outputs.
template <int L>
__device__ __forceinline__ void last_layer(const Network& m, const float* x, float* to) {
    const float* weight = m.by_out + by_out_before(L);
    for (int e = threadIdx.x; e < N_OUT[L] * CHUNK; e += THREADS) {
        const int j = e / CHUNK, row = e % CHUNK;
        float sum = m.bias[outs_before(L) + j];
#pragma unroll 8
        for (int k = 0; k < N_IN[L]; k++) sum += weight[j * stride_of(N_IN[L]) + k] * x[k * STRIDE + row];
        to[j * STRIDE + row] = sum;
    }
}

// From the gradient of layer L, back through the ReLU and dropout whose answers x it has read.
template <int L>
__device__ __forceinline__ void hidden_layer_backward(const Network& m, const float* d, const float* x, float* to) {
    product<N_IN[L], N_OUT[L]>(m.by_out + by_out_before(L), d, [&](int k, int row, const float* z) {
        const float4 a = four(x + k * STRIDE + row);
        const float v[4] = {a.x > 0.f ? z[0] * SCALE : 0.f, a.y > 0.f ? z[1] * SCALE : 0.f,
                            a.z > 0.f ? z[2] * SCALE : 0.f, a.w > 0.f ? z[3] * SCALE : 0.f};
        set_four(to + k * STRIDE + row, v);
    });
}

// What a lane has of the sum of row j of d.
__device__ __forceinline__ float part_of_sum(const float* d, int j, int lane) {
    float sum = 0.f;
#pragma unroll
    for (int row = lane * 4; row < CHUNK; row += LANES * 4) {
        const float4 v = four(d + j * STRIDE + row);
        sum += v.x + v.y + v.z + v.w;
    }
    return sum;
}

// Add the sums of rows of d, (OUT, rows).
template <int OUT>
__device__ __forceinline__ void add_sums(const float* d, float* sums) {
    const int lane = threadIdx.x % LANES;
    for (int first = 0; first < OUT; first += 32) {
        const int j = first + threadIdx.x / LANES;
        float sum = j < OUT ? part_of_sum(d, j, lane) : 0.f;
#pragma unroll
        for (int step = 1; step < LANES; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (j < OUT && lane == 0) sums[j] += sum;
    }
}

// ---- Adam -----------------------------------------------------------------------------------------

__device__ __forceinline__ void adam(float& value, float& moment1, float& moment2, float gradient, float rate,
                                     float spread, float decay) {
    moment1 += (gradient - moment1) * (float)(1 - BETA1);
    moment2 += (gradient * gradient - moment2) * (float)(1 - BETA2);
    float root;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(moment2 * spread));
    value = value * (1.f - decay) - __fdividef(rate * moment1, root + (float)EPS);
}

// Where in theta a number of the arrays here is.
__device__ __forceinline__ int place_of_shared(int i) {
    for (int p = 0; p < N_SHARED_RUNS; p++) {
        if (i < SHARED_RUN[p]) return SHARED_PLACE[p] + i;
        i -= SHARED_RUN[p];
    }
    return 0;
}
__device__ __forceinline__ int place_of_own(int i, int member) {
    for (int p = 0; p < N_OWN_RUNS; p++) {
        if (i < OWN_RUN[p]) return OWN_PLACE[p] + member * OWN_RUN[p] + i;
        i -= OWN_RUN[p];
    }
    return 0;
}

// Two sums over all threads, in an order that is always the same.
__device__ __forceinline__ float2 sums_of_block(Network& m, float a, float b) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        a += __shfl_xor_sync(0xffffffffu, a, step);
        b += __shfl_xor_sync(0xffffffffu, b, step);
    }
    if (threadIdx.x % 32 == 0) {
        m.partial[threadIdx.x / 32][0] = a;
        m.partial[threadIdx.x / 32][1] = b;
    }
    __syncthreads();
    float2 total = make_float2(0.f, 0.f);
    for (int w = 0; w < THREADS / 32; w++) {
        total.x += m.partial[w][0];
        total.y += m.partial[w][1];
    }
    return total;
}

// ---- a network, from its first to its last step ----------------------------------------------------

#if BLOCKS_OF_NETWORK > 1
#define IN_CLUSTERS __cluster_dims__(BLOCKS_OF_NETWORK, 1, 1)
#else
#define IN_CLUSTERS
#endif
#define KERNEL extern "C" __global__ void IN_CLUSTERS __launch_bounds__(THREADS)

struct Place {  // of a block
    float *theta, *moment1, *moment2, *count;  // of its network
    int network, rank, n_rounds;               // in the cluster, and how many members it has
    __device__ Place(float* theta, float* moment1, float* moment2, float* count, int n_parameters)
        : network(blockIdx.x / BLOCKS), rank(rank_in_cluster()), n_rounds((N_MEMBERS - rank + BLOCKS - 1) / BLOCKS) {
        const long long first = (long long)network * n_parameters;
        this->theta = theta + first;
        this->moment1 = moment1 + first;
        this->moment2 = moment2 + first;
        this->count = count + network;
    }
    __device__ bool is_first() const { return rank == 0 && threadIdx.x == 0; }  // of a network's threads
};

// Everything else in `m` is zero.
template <class Memory>
__device__ void load(Memory& m, const Place& at) {
    const int tid = threadIdx.x;
    for (int i = tid; i < (int)(sizeof(Memory) / 4); i += THREADS) reinterpret_cast<float*>(&m)[i] = 0.f;
    __syncthreads();
    for (int i = tid; i < N_SHARED; i += THREADS) m.shared[i] = at.theta[place_of_shared(i)];
    for (int i = tid; !OUTSIDE && i < SLICE && at.rank * SLICE + i < N_SHARED; i += THREADS) {
        const int place = place_of_shared(at.rank * SLICE + i);
        m.moment1[i] = at.moment1[place];
        m.moment2[i] = at.moment2[place];
    }
    for (int round = 0; round < at.n_rounds; round++)
        for (int i = tid; i < N_OWN; i += THREADS) {
            const int place = place_of_own(i, at.rank + round * BLOCKS);
            m.own[round][i] = at.theta[place];
            m.own1[round][i] = at.moment1[place];
            m.own2[round][i] = at.moment2[place];
        }
}

// Adam's counts, which all threads keep.
struct Count {
    double steps, power1, power2;
    __device__ explicit Count(double done) : steps(done), power1(pow(BETA1, done)), power2(pow(BETA2, done)) {}
};

__device__ void store(const Network& m, const Place& at, const Count& done) {
    const int tid = threadIdx.x;
    __syncthreads();
    if (at.is_first()) *at.count = (float)done.steps;
    for (int i = tid; i < SLICE && at.rank * SLICE + i < N_SHARED; i += THREADS) {
        const int place = place_of_shared(at.rank * SLICE + i);
        at.theta[place] = m.shared[at.rank * SLICE + i];
        if (OUTSIDE) continue;
        at.moment1[place] = m.moment1[i];
        at.moment2[place] = m.moment2[i];
    }
    for (int round = 0; round < at.n_rounds; round++)
        for (int i = tid; i < N_OWN; i += THREADS) {
            const int place = place_of_own(i, at.rank + round * BLOCKS);
            at.theta[place] = m.own[round][i];
            at.moment1[place] = m.own1[round][i];
            at.moment2[place] = m.own2[round][i];
        }
    sync_network();
}

// The step of a network whose blocks have all their gradients; returns the loss of all of them.
__device__ float update(Network& m, const Place& at, Count& count, float loss) {
    const int tid = threadIdx.x;
    count.steps += 1;
    count.power1 *= BETA1;
    count.power2 *= BETA2;
    const float rate = (float)(LR / (1 - count.power1)), spread = (float)(1 / (1 - count.power2));
    // The gradient of what members share: each block adds up a part of it for all.
    sync_network();
    float norm = 0.f;
    for (int i = tid; i < SLICE && at.rank * SLICE + i < N_SHARED; i += THREADS) {
        float sum = 0.f;
        for (int block = 0; block < BLOCKS; block++) sum += read_from(&m.d_shared[at.rank * SLICE + i], block);
        m.d_shared[at.rank * SLICE + i] = sum;  // which no other block reads here
        norm += sum * sum;
    }
    for (int round = 0; round < at.n_rounds; round++)
        for (int i = tid; i < N_OWN; i += THREADS) norm += m.d_own[round][i] * m.d_own[round][i];
    const float2 both = sums_of_block(m, norm, loss);
    if (tid < BLOCKS) {
        write_to(&m.of_block[at.rank][0], tid, both.x);
        write_to(&m.of_block[at.rank][1], tid, both.y);
    }
    sync_network();
    float total = 0.f, all = 0.f;
    for (int block = 0; block < BLOCKS; block++) {
        total += m.of_block[block][0];
        all += m.of_block[block][1];
    }
    const float factor = HAS_CLIP ? CLIP / fmaxf(sqrtf(total), CLIP) : 1.f;
#pragma unroll 4
    for (int i = tid; i < SLICE; i += THREADS) {
        const int place = at.rank * SLICE + i;
        if (place >= N_SHARED) break;
        float value = m.shared[place];
        const int outside = OUTSIDE ? place_of_shared(place) : 0;
        float& moment1 = OUTSIDE ? at.moment1[outside] : m.moment1[i];
        float& moment2 = OUTSIDE ? at.moment2[outside] : m.moment2[i];
        adam(value, moment1, moment2, m.d_shared[place] * factor, rate, spread,
             place < N_WEIGHTS ? (float)DECAY : 0.f);
        for (int block = 0; block < BLOCKS; block++) write_to(&m.shared[place], block, value);
    }
    for (int round = 0; round < at.n_rounds; round++)
#pragma unroll 2
        for (int i = tid; i < N_OWN; i += THREADS)
            adam(m.own[round][i], m.own1[round][i], m.own2[round][i], m.d_own[round][i] * factor, rate, spread, 0.f);
    // Every thread clears what it has read itself.
    for (int i = tid; i < N_SHARED; i += THREADS) m.d_shared[(at.rank * SLICE + i) % N_SHARED] = 0.f;
    sync_network();
    return all;
}
