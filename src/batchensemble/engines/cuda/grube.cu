// Training steps of a bank of forecasters on the chip: GRUBE of one layer, and an MLP as its head.
//
// A member goes through all times keeping its hidden states in memory outside the chip, and comes back
// computing the gates of each step anew. Layers 0 and 1 are the gates (reset and update together) and the
// candidate, which read xh: inputs and hidden state one below the other. The others are the head's.

constexpr int SIZE = N_OUT[1];                                  // of the hidden state
constexpr int N_XH = N_IN[0];
constexpr int N_INPUTS = N_XH - SIZE;
constexpr int TIMES = CONTEXT + HORIZON - 1;
constexpr int EACH = SIZE * CHUNK / THREADS;                    // numbers of a hidden state for a thread
constexpr int OUTPUTS = N_LAYERS - 1;                           // the last layer

__host__ __device__ constexpr int head_rows_before(int layer) {  // what layers of the head read
    int n = 0;
    for (int l = 3; l < layer; l++) n += N_IN[l];
    return n;
}
__host__ __device__ constexpr int widest_of_head() {
    int n = 2;
    for (int l = 2; l < N_LAYERS; l++) n = N_OUT[l] > n ? N_OUT[l] : n;
    return n;
}
__host__ __device__ constexpr int g_before(int layer) {
    int n = 0;
    for (int l = 0; l < layer; l++) n += N_OUT[l] * (N_IN[l] + 1);
    return n;
}
constexpr int HEAD_ROWS = head_rows_before(N_LAYERS) + 2 * widest_of_head();
constexpr int CELL_ROWS = N_XH + 3 * SIZE;
static_assert(HEAD_ROWS <= CELL_ROWS, "the head and the gates take turns in one place");

struct alignas(16) Memory : Network {
    alignas(16) float xh[N_XH * STRIDE];
    float xrh[N_XH * STRIDE];                          // the same with the hidden state reset
    float gates[2 * SIZE * STRIDE];                    // reset and update, then their gradients
    float c[SIZE * STRIDE];                            // the candidate, then its gradient
    float d_h[SIZE * STRIDE];
    float d_x[N_INPUTS * STRIDE];
    float values[(REACH + HORIZON) * CHUNK];
    float fed[HORIZON * CHUNK], d_fed[HORIZON * CHUNK];
    float weight[CHUNK];
    float sums[outs_before(N_LAYERS)];                 // gradients of biases
    float g[padded(g_before(N_LAYERS))];               // and of effective weights
    int start[CHUNK];
};

__device__ __forceinline__ float tanh_of(float x) { return 2.f * sigmoid(2.f * x) - 1.f; }
__device__ __forceinline__ void set_four(float* at, const float* v) {
    *reinterpret_cast<float4*>(at) = make_float4(v[0], v[1], v[2], v[3]);
}

// Add the sums of rows of d, (OUT, rows).
template <int OUT>
__device__ __forceinline__ void add_sums(const float* d, float* sums) {
    const int lane = threadIdx.x % LANES;
    for (int first = 0; first < OUT; first += 32) {
        const int j = first + threadIdx.x / LANES;
        float sum = 0.f;
        if (j < OUT)
#pragma unroll
            for (int row = lane * 4; row < CHUNK; row += LANES * 4) {
                const float4 v = four(d + j * STRIDE + row);
                sum += v.x + v.y + v.z + v.w;
            }
#pragma unroll
        for (int step = 1; step < LANES; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (j < OUT && lane == 0) sums[j] += sum;
    }
}

// ---- the head, in the place of the gates ----------------------------------------------------------

__device__ __forceinline__ float* head_input(Memory& m, int layer) {
    return layer == 2 ? m.xh + N_INPUTS * STRIDE : m.xrh + head_rows_before(layer) * STRIDE;
}
__device__ __forceinline__ float* head_gradient(Memory& m, int layer) {
    return m.xrh + (head_rows_before(N_LAYERS) + layer % 2 * widest_of_head()) * STRIDE;
}

template <int L>
__device__ void head_forward(Memory& m, unsigned first_unit, unsigned key) {
    const float* x = head_input(m, L);
    if constexpr (L < OUTPUTS) {
        float* to = head_input(m, L + 1);
        product<N_OUT[L], N_IN[L]>(m.by_in + by_in_before(L), x, [&](int j, int row, const float* z) {
            const float bias = m.bias[outs_before(L) + j];
            float v[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                v[i] = fmaxf((z[i] + bias) * SCALE, 0.f);
                const unsigned unit =
                    first_unit + (unsigned)(row + i) * (N_MEMBERS * HORIZON * N_UNITS) + UNIT[L] + j;
                if (HAS_DROPOUT && !is_kept(unit, key)) v[i] = 0.f;
            }
            set_four(to + j * STRIDE + row, v);
        });
        __syncthreads();
        head_forward<L + 1>(m, first_unit, key);
    } else {
        const float* weight = m.by_out + by_out_before(L);
        float* out = head_gradient(m, L);
        for (int e = threadIdx.x; e < N_OUT[L] * CHUNK; e += THREADS) {
            const int j = e / CHUNK, row = e % CHUNK;
            float sum = m.bias[outs_before(L) + j];
#pragma unroll 8
            for (int k = 0; k < N_IN[L]; k++) sum += weight[j * stride_of(N_IN[L]) + k] * x[k * STRIDE + row];
            out[j * STRIDE + row] = sum;
        }
        __syncthreads();
    }
}

template <int L>
__device__ void head_backward(Memory& m) {
    const float* d = head_gradient(m, L);
    const float* x = head_input(m, L);
    outer<N_OUT[L], N_IN[L], true>(d, x, m.g + g_before(L));
    add_sums<N_OUT[L]>(d, m.sums + outs_before(L));
    product<N_IN[L], N_OUT[L]>(m.by_out + by_out_before(L), d, [&](int k, int row, const float* z) {
        if constexpr (L == 2) {
            float* to = m.d_h + k * STRIDE + row;
            for (int i = 0; i < 4; i++) to[i] += z[i];
        } else {
            const float4 v = four(x + k * STRIDE + row);
            const float kept[4] = {v.x, v.y, v.z, v.w};
            float to[4];
            for (int i = 0; i < 4; i++) to[i] = kept[i] > 0.f ? z[i] * SCALE : 0.f;
            set_four(head_gradient(m, L - 1) + k * STRIDE + row, to);
        }
    });
    __syncthreads();
    if constexpr (L > 2) head_backward<L - 1>(m);
}

// ---- the cell -------------------------------------------------------------------------------------

// What a step reads: values that are known, or those fed back.
__device__ __forceinline__ void read_inputs(Memory& m, int time) {
    const int step = time - CONTEXT + 1;
    for (int e = threadIdx.x; e < N_INPUTS * CHUNK; e += THREADS) {
        const int j = e / CHUNK, row = e % CHUNK;
        const bool is_fed = FEEDS_BACK && LAGS[j] <= step;
        const float value = is_fed ? m.fed[(step - LAGS[j]) * CHUNK + row]
                                   : m.values[(REACH - CONTEXT + 1 + time - LAGS[j]) * CHUNK + row];
        m.xh[j * STRIDE + row] = value;
        m.xrh[j * STRIDE + row] = value;
    }
}

__device__ void reset_and_update(Memory& m) {
    product<2 * SIZE, N_XH>(m.by_in, m.xh, [&](int j, int row, const float* z) {
        float v[4];
#pragma unroll
        for (int i = 0; i < 4; i++) v[i] = sigmoid(z[i] + m.bias[j]);
        set_four(m.gates + j * STRIDE + row, v);
        if (j >= SIZE) return;
        const int k = (N_INPUTS + j) * STRIDE + row;
#pragma unroll
        for (int i = 0; i < 4; i++) v[i] *= m.xh[k + i];
        set_four(m.xrh + k, v);
    });
    __syncthreads();
}

// The candidate, and the new hidden state in place of the old.
__device__ void candidate(Memory& m) {
    product<SIZE, N_XH>(m.by_in + by_in_before(1), m.xrh, [&](int j, int row, const float* z) {
        float* h = m.xh + (N_INPUTS + j) * STRIDE + row;
        const float* update = m.gates + (SIZE + j) * STRIDE + row;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float c = tanh_of(z[i] + m.bias[outs_before(1) + j]);
            h[i] += update[i] * (c - h[i]);
        }
    });
    __syncthreads();
}

// The way back through the cell, whose gates have been computed anew; d_h goes one step back.
__device__ void cell_backward(Memory& m) {
    product<SIZE, N_XH>(m.by_in + by_in_before(1), m.xrh, [&](int j, int row, const float* z) {
        const float* h = m.xh + (N_INPUTS + j) * STRIDE + row;
        float* update = m.gates + (SIZE + j) * STRIDE + row;
        float* d_h = m.d_h + j * STRIDE + row;
        float* d_c = m.c + j * STRIDE + row;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float c = tanh_of(z[i] + m.bias[outs_before(1) + j]), u = update[i], d = d_h[i];
            d_c[i] = d * u * (1.f - c * c);
            update[i] = d * (c - h[i]) * u * (1.f - u);
            d_h[i] = d * (1.f - u);
        }
    });
    __syncthreads();
    outer<SIZE, N_XH, true>(m.c, m.xrh, m.g + g_before(1));
    add_sums<SIZE>(m.c, m.sums + outs_before(1));
    product<N_XH, SIZE>(m.by_out + by_out_before(1), m.c, [&](int k, int row, const float* z) {
        if (k < N_INPUTS) {
            set_four(m.d_x + k * STRIDE + row, z);
            return;
        }
        const int j = k - N_INPUTS;
        float* reset = m.gates + j * STRIDE + row;
        float* d_h = m.d_h + j * STRIDE + row;
        const float* h = m.xh + k * STRIDE + row;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float r = reset[i];
            d_h[i] += z[i] * r;
            reset[i] = z[i] * h[i] * r * (1.f - r);
        }
    });
    __syncthreads();
    outer<2 * SIZE, N_XH, true>(m.gates, m.xh, m.g);
    add_sums<2 * SIZE>(m.gates, m.sums);
    product<N_XH, 2 * SIZE>(m.by_out, m.gates, [&](int k, int row, const float* z) {
        float* to = k < N_INPUTS ? m.d_x + k * STRIDE + row : m.d_h + (k - N_INPUTS) * STRIDE + row;
#pragma unroll
        for (int i = 0; i < 4; i++) to[i] += z[i];
    });
    __syncthreads();
}

template <int L>
__device__ void unfold_everything(Memory& m, const float* own, float* d_own) {
    if constexpr (L < N_LAYERS) {
        unfold_layer<0, L>(m, own, d_own, m.g + g_before(L), [&](int j, int lane) {
            return lane == 0 ? m.sums[outs_before(L) + j] : 0.f;
        });
        unfold_everything<L + 1>(m, own, d_own);
    }
}

// One member on some windows; returns a thread's part of the loss.
__device__ float through_time(Memory& m, float* history, unsigned first_unit, unsigned key) {
    const int tid = threadIdx.x;
    float loss = 0.f;
    for (int e = tid; e < SIZE * STRIDE; e += THREADS) {
        m.xh[N_INPUTS * STRIDE + e] = 0.f;
        m.d_h[e] = 0.f;
    }
    for (int e = tid; e < HORIZON * CHUNK; e += THREADS) m.d_fed[e] = 0.f;
    __syncthreads();
    for (int time = 0; time < TIMES; time++) {
        const int step = time - CONTEXT + 1;
        read_inputs(m, time);
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int e = tid + i * THREADS;
            history[time * SIZE * CHUNK + e] = m.xh[(N_INPUTS + e / CHUNK) * STRIDE + e % CHUNK];
        }
        __syncthreads();
        reset_and_update(m);
        candidate(m);
        if (FEEDS_BACK && step >= 0 && step < HORIZON - 1) {
            head_forward<2>(m, first_unit + step * N_UNITS, key);
            if (tid < CHUNK) m.fed[step * CHUNK + tid] = head_gradient(m, OUTPUTS)[tid];
            __syncthreads();
        }
    }
    for (int time = TIMES - 1; time >= 0; time--) {
        const int step = time - CONTEXT + 1;
        float before[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) before[i] = history[time * SIZE * CHUNK + tid + i * THREADS];
        if (step >= 0) {
            head_forward<2>(m, first_unit + step * N_UNITS, key);
            if (tid < CHUNK) {
                float* out = head_gradient(m, OUTPUTS) + tid;
                const float y = m.values[(REACH + step) * CHUNK + tid];
                loss += gaussian(out, y, m.weight[tid] / HORIZON);
                if (FEEDS_BACK) out[0] += m.d_fed[step * CHUNK + tid];
            }
            __syncthreads();
            head_backward<OUTPUTS>(m);
        }
        read_inputs(m, time);
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int e = tid + i * THREADS;
            m.xh[(N_INPUTS + e / CHUNK) * STRIDE + e % CHUNK] = before[i];
        }
        __syncthreads();
        reset_and_update(m);
        cell_backward(m);
        if (FEEDS_BACK && tid < CHUNK)
            for (int j = 0; j < N_INPUTS; j++)
                if (LAGS[j] <= step) m.d_fed[(step - LAGS[j]) * CHUNK + tid] += m.d_x[j * STRIDE + tid];
    }
    __syncthreads();
    return loss;
}

// ---- all steps ------------------------------------------------------------------------------------

extern "C" __global__ void
#if BLOCKS_OF_NETWORK > 1
__cluster_dims__(BLOCKS_OF_NETWORK, 1, 1)
#endif
__launch_bounds__(THREADS)
train(float* theta, float* moment1, float* moment2, float* count, const float* series, const float* location,
      const float* scale, float* history, const long long* rows, const float* weights, const int* keys,
      const unsigned char* active, float* losses, int n_steps, int n_networks, int width, int n_parameters) {
    extern __shared__ __align__(16) unsigned char memory[];
    Memory& m = *reinterpret_cast<Memory*>(memory);
    const int tid = threadIdx.x, rank = rank_in_cluster(), n = blockIdx.x / BLOCKS;
    const long long first = (long long)n * n_parameters;
    const int n_rounds = (N_MEMBERS - rank + BLOCKS - 1) / BLOCKS;
    const Place here = {theta + first, moment1 + first, moment2 + first, rank, n_rounds};
    float* own_history = history + (long long)blockIdx.x * TIMES * SIZE * CHUNK;
    for (int i = tid; i < (int)(sizeof(Memory) / 4); i += THREADS) reinterpret_cast<float*>(memory)[i] = 0.f;
    __syncthreads();
    load(m, here);
    Count done(count[n]);
    sync_network();
    for (int t = 0; t < n_steps; t++) {
        const long long at = (long long)t * n_networks + n;
        if (!active[at]) {
            if (rank == 0 && tid == 0) losses[at] = 0.f;
            continue;
        }
        const unsigned key = (unsigned)keys[at];
        float loss = 0.f;
        for (int round = 0; round < n_rounds; round++) {
            const int member = rank + round * BLOCKS;
            float* d_own = m.d_own[round];
            for (int i = tid; i < N_OWN; i += THREADS) d_own[i] = 0.f;
            for (int i = tid; i < outs_before(N_LAYERS); i += THREADS) m.sums[i] = 0.f;
            for (int i = tid; i < g_before(N_LAYERS); i += THREADS) m.g[i] = 0.f;
            fold<0>(m, m.own[round]);
            for (int chunk = 0; chunk < N_CHUNKS; chunk++) {
                if (tid < CHUNK) {
                    const int row = chunk * CHUNK + tid;
                    const long long place = (at * ROWS + row) * width + (width == 1 ? 0 : member);
                    m.start[tid] = row < ROWS ? (int)rows[place] : 0;
                    m.weight[tid] = row < ROWS ? weights[place] : 0.f;
                }
                __syncthreads();
                for (int e = tid; e < (REACH + HORIZON) * CHUNK; e += THREADS) {
                    const int start = m.start[e % CHUNK];
                    m.values[e] = (series[start + e / CHUNK] - location[start]) / scale[start];
                }
                __syncthreads();
                const unsigned first_unit =
                    (unsigned)(chunk * CHUNK * N_MEMBERS + member) * (unsigned)(HORIZON * N_UNITS);
                loss += through_time(m, own_history, first_unit, key);
            }
            unfold_everything<0>(m, m.own[round], d_own);
            __syncthreads();
        }
        const float all = update(m, here, done, loss);
        if (rank == 0 && tid == 0) losses[at] = all;
    }
    __syncthreads();
    store(m, here);
    if (rank == 0 && tid == 0) count[n] = (float)done.steps;
    sync_network();
}
