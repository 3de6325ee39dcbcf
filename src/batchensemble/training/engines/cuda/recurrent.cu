// Training steps of a bank of forecasters on the chip: a recurrent layer, and an MLP as its head.
//
// A member goes through all times keeping its hidden states in memory outside the chip, and comes back
// computing each step anew. The layers before HEAD are those of `Cell`, whose text comes before this.

constexpr int OUTPUTS = N_LAYERS - 1;                           // the last layer
constexpr int TIMES = CONTEXT + HORIZON - 1;
constexpr int NUMBERS = SIZE * CHUNK;                           // of a hidden state
constexpr int EACH = (NUMBERS + THREADS - 1) / THREADS;         // of them for a thread

__host__ __device__ constexpr int head_rows_before(int layer) {  // what layers of the head read
    int n = 0;
    for (int l = HEAD + 1; l < layer; l++) n += N_IN[l];
    return n;
}
__host__ __device__ constexpr int widest_of_head() {
    int n = 2;
    for (int l = HEAD; l < N_LAYERS; l++) n = N_OUT[l] > n ? N_OUT[l] : n;
    return n;
}
constexpr int HEAD_ROWS = head_rows_before(N_LAYERS) + 2 * widest_of_head();
constexpr int WORK_ROWS = HEAD_ROWS > CELL_ROWS ? HEAD_ROWS : CELL_ROWS;

struct alignas(16) Memory : Network {
    alignas(16) float xh[N_XH * STRIDE];
    float work[WORK_ROWS * STRIDE];                    // the cell and the head take turns in it
    float d_h[SIZE * STRIDE];
    float d_x[N_INPUTS * STRIDE];
    float values[(REACH + HORIZON) * CHUNK];
    float fed[HORIZON * CHUNK], d_fed[HORIZON * CHUNK];
    float weight[CHUNK];
    float sums[outs_before(N_LAYERS)];                 // gradients of biases
    float g[padded(g_before(N_LAYERS))];               // and of effective weights
    int start[CHUNK];
};

// ---- the head -------------------------------------------------------------------------------------

__device__ __forceinline__ float* head_input(Memory& m, int layer) {
    return layer == HEAD ? m.xh + N_INPUTS * STRIDE : m.work + head_rows_before(layer) * STRIDE;
}
__device__ __forceinline__ float* head_gradient(Memory& m, int layer) {
    return m.work + (head_rows_before(N_LAYERS) + layer % 2 * widest_of_head()) * STRIDE;
}

template <int L>
__device__ void head_forward(Memory& m, unsigned first_unit, unsigned key) {
    const float* x = head_input(m, L);
    if constexpr (L < OUTPUTS) {
        hidden_layer<L, N_MEMBERS * HORIZON * N_UNITS>(m, x, head_input(m, L + 1), first_unit, key);
        __syncthreads();
        head_forward<L + 1>(m, first_unit, key);
    } else {
        last_layer<L>(m, x, head_gradient(m, L));
        __syncthreads();
    }
}

template <int L>
__device__ void head_backward(Memory& m) {
    const float* d = head_gradient(m, L);
    const float* x = head_input(m, L);
    outer<N_OUT[L], N_IN[L], true>(d, x, m.g + g_before(L));
    add_sums<N_OUT[L]>(d, m.sums + outs_before(L));
    if constexpr (L > HEAD) {
        hidden_layer_backward<L>(m, d, x, head_gradient(m, L - 1));
    } else {
        product<N_IN[L], N_OUT[L]>(m.by_out + by_out_before(L), d, [&](int k, int row, const float* z) {
            float* to = m.d_h + k * STRIDE + row;
#pragma unroll
            for (int i = 0; i < 4; i++) to[i] += z[i];
        });
    }
    __syncthreads();
    if constexpr (L > HEAD) head_backward<L - 1>(m);
}

// ---- through time ---------------------------------------------------------------------------------

// What a step reads: values that are known, or those fed back; and covariates.
__device__ __forceinline__ void read_inputs(Memory& m, const Cell& cell, const float* series, int time) {
    const int step = time - CONTEXT + 1, now = REACH - CONTEXT + 1 + time;
    for (int e = threadIdx.x; e < N_INPUTS * CHUNK; e += THREADS) {
        const int j = e / CHUNK, row = e % CHUNK;
        float value;
        if (j >= N_LAGS) {
            const bool is_unknown = now > REACH && j >= N_INPUTS - N_PAST;
            const long long place = (long long)(m.start[row] + now) * (1 + N_INPUTS - N_LAGS);
            value = is_unknown ? 0.f : series[place + 1 + j - N_LAGS];
        } else if (FEEDS_BACK && LAGS[j] <= step) {
            value = m.fed[(step - LAGS[j]) * CHUNK + row];
        } else {
            value = m.values[(now - LAGS[j]) * CHUNK + row];
        }
        cell.set_input(j * STRIDE + row, value);
    }
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
__device__ float through_time(Memory& m, const float* series, float* history, unsigned first_unit, unsigned key) {
    const int tid = threadIdx.x;
    const Cell cell(m);
    float loss = 0.f;
    for (int e = tid; e < SIZE * STRIDE; e += THREADS) {
        m.xh[N_INPUTS * STRIDE + e] = 0.f;
        m.d_h[e] = 0.f;
    }
    for (int e = tid; e < HORIZON * CHUNK; e += THREADS) m.d_fed[e] = 0.f;
    __syncthreads();
    for (int time = 0; time < TIMES; time++) {
        const int step = time - CONTEXT + 1;
        read_inputs(m, cell, series, time);
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int e = tid + i * THREADS;
            if (NUMBERS % THREADS && e >= NUMBERS) break;
            history[time * NUMBERS + e] = m.xh[(N_INPUTS + e / CHUNK) * STRIDE + e % CHUNK];
        }
        __syncthreads();
        cell.forward(m);
        if (FEEDS_BACK && step >= 0 && step < HORIZON - 1) {
            head_forward<HEAD>(m, first_unit + step * N_UNITS, key);
            if (tid < CHUNK) m.fed[step * CHUNK + tid] = head_gradient(m, OUTPUTS)[tid];
            __syncthreads();
        }
    }
    for (int time = TIMES - 1; time >= 0; time--) {
        const int step = time - CONTEXT + 1;
        float before[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int e = tid + i * THREADS;
            before[i] = NUMBERS % THREADS && e >= NUMBERS ? 0.f : history[time * NUMBERS + e];
        }
        if (step >= 0) {
            head_forward<HEAD>(m, first_unit + step * N_UNITS, key);
            if (tid < CHUNK) {
                float* out = head_gradient(m, OUTPUTS) + tid;
                const float y = m.values[(REACH + step) * CHUNK + tid];
                loss += gaussian(out, y, m.weight[tid] / HORIZON);
                if (FEEDS_BACK) out[0] += m.d_fed[step * CHUNK + tid];
            }
            __syncthreads();
            head_backward<OUTPUTS>(m);
        }
        read_inputs(m, cell, series, time);
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int e = tid + i * THREADS;
            if (NUMBERS % THREADS && e >= NUMBERS) break;
            m.xh[(N_INPUTS + e / CHUNK) * STRIDE + e % CHUNK] = before[i];
        }
        __syncthreads();
        cell.backward(m);
        if (FEEDS_BACK && tid < CHUNK)
            for (int j = 0; j < N_LAGS; j++)
                if (LAGS[j] <= step) m.d_fed[(step - LAGS[j]) * CHUNK + tid] += m.d_x[j * STRIDE + tid];
    }
    __syncthreads();
    return loss;
}

// ---- all steps ------------------------------------------------------------------------------------

KERNEL train(float* theta, float* moment1, float* moment2, float* count, const float* series,
             const float* location, const float* scale, float* history, const long long* rows,
             const float* weights, const int* keys, const unsigned char* active, const float* penalties,
             float* losses, int n_steps, int n_networks, int width, int n_parameters) {
    extern __shared__ __align__(16) unsigned char memory[];
    Memory& m = *reinterpret_cast<Memory*>(memory);
    const Place here(theta, moment1, moment2, count, n_parameters);
    const int tid = threadIdx.x, rank = here.rank, n = here.network, n_rounds = here.n_rounds;
    float* own_history = history + (long long)blockIdx.x * TIMES * NUMBERS;
    load(m, here);
    Count done(*here.count);
    sync_network();
    for (int t = 0; t < n_steps; t++) {
        const long long at = (long long)t * n_networks + n;
        if (!active[at]) {
            if (here.is_first()) losses[at] = 0.f;
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
                    const long long place = (long long)(start + e / CHUNK) * (1 + N_INPUTS - N_LAGS);
                    m.values[e] = (series[place] - location[start]) / scale[start];
                }
                __syncthreads();
                const unsigned first_unit =
                    (unsigned)(chunk * CHUNK * N_MEMBERS + member) * (unsigned)(HORIZON * N_UNITS);
                loss += through_time(m, series, own_history, first_unit, key);
            }
            unfold_everything<0>(m, m.own[round], d_own);
            __syncthreads();
        }
        loss += repel(m, here, penalties[n]);
        const float all = update(m, here, done, loss);
        if (here.is_first()) losses[at] = all;
    }
    store(m, here, done);
}
