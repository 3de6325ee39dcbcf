// Training steps of a bank of MLPs on the chip.

__host__ __device__ constexpr int rows_before(int layer) {  // of activations: what layers read
    int n = 0;
    for (int l = 1; l < layer; l++) n += padded(N_IN[l]);
    return n;
}
__host__ __device__ constexpr int widest() {
    int n = 4;
    for (int l = 0; l < N_LAYERS; l++) n = padded(N_OUT[l]) > n ? padded(N_OUT[l]) : n;
    return n;
}
__host__ __device__ constexpr int largest() {
    int n = 0;
    for (int l = 0; l < N_LAYERS; l++)
        if (N_OUT[l] * (N_IN[l] + 1) > n) n = N_OUT[l] * (N_IN[l] + 1);
    return padded(n);
}

constexpr int ACTIVATIONS = rows_before(N_LAYERS) * STRIDE + 4;

struct alignas(16) Memory : Network {
    alignas(16) float inputs[2][padded(N_IN[0]) * STRIDE];
    float target[2][CHUNK];
    float weight[2][CHUNK];
    int row[4][CHUNK];
    float a[OUTSIDE ? 4 : ACTIVATIONS];                // what the layers after the first read
    float d[2][widest() * STRIDE];                     // gradients before activations
    float g[largest()];                                // the gradient of an effective weight
};

template <int L>
__device__ void forward(Memory& m, const float* x, float* a, unsigned first_unit, unsigned key) {
    if constexpr (L < N_LAYERS - 1) {
        float* to = a + rows_before(L + 1) * STRIDE;
        hidden_layer<L, N_MEMBERS * N_UNITS>(m, x, to, first_unit, key);
        __syncthreads();
        forward<L + 1>(m, to, a, first_unit, key);
    } else {
        last_layer<L>(m, x, m.d[L % 2]);
        __syncthreads();
    }
}

template <int L>
__device__ void backward(Memory& m, const float* inputs, const float* a, const float* own, float* d_own) {
    const float* d = m.d[L % 2];
    const float* x = L == 0 ? inputs : a + rows_before(L) * STRIDE;
    outer<N_OUT[L], N_IN[L]>(d, x, m.g);
    if constexpr (L > 0) hidden_layer_backward<L>(m, d, x, m.d[(L + 1) % 2]);
    __syncthreads();
    unfold_layer<0, L>(m, own, d_own, m.g, [&](int j, int lane) { return part_of_sum(d, j, lane); });
    __syncthreads();
    if constexpr (L > 0) backward<L - 1>(m, inputs, a, own, d_own);
}

// ---- all steps ------------------------------------------------------------------------------------

KERNEL train(float* theta, float* moment1, float* moment2, float* count, const float* x, const float* y,
             float* scratch, const long long* rows, const float* weights, const int* keys,
             const unsigned char* active, const float* penalties, float* losses, int n_steps, int n_networks,
             int width, int n_parameters) {
    extern __shared__ __align__(16) unsigned char memory[];
    Memory& m = *reinterpret_cast<Memory*>(memory);
    const Place here(theta, moment1, moment2, count, n_parameters);
    const int tid = threadIdx.x, rank = here.rank, n = here.network, n_rounds = here.n_rounds;
    float* a = OUTSIDE ? scratch + (long long)blockIdx.x * ACTIVATIONS : m.a;
    load(m, here);
    Count done(*here.count);

    // Items are parts of batches, one after the other: chunks of this block's members of a step.
    struct Item {
        int step = 0, round = 0, chunk = 0;
    };
    auto after = [&](Item item) {
        if (++item.chunk == N_CHUNKS) {
            item.chunk = 0;
            if (++item.round == n_rounds) {
                item.round = 0;
                item.step++;
            }
        }
        return item;
    };
    auto inside = [&](Item item) { return item.step < n_steps && item.chunk * CHUNK + tid < ROWS; };
    auto place = [&](Item item) -> long long {  // of a thread's row among rows and weights
        const int row = item.chunk * CHUNK + tid, member = rank + item.round * BLOCKS;
        return (((long long)item.step * n_networks + n) * ROWS + row) * width + (width == 1 ? 0 : member);
    };
    auto row_of = [&](Item item) { return tid < CHUNK && inside(item) ? (int)rows[place(item)] : 0; };
    auto fetch = [&](Item item, int number) {
        if (item.step >= n_steps) return;
        const int side = number % 2;
        const int* row = m.row[number % 4];
        for (int e = tid; e < CHUNK * N_IN[0]; e += THREADS) {
            const int b = e / N_IN[0], k = e % N_IN[0];
            copy_later(&m.inputs[side][k * STRIDE + b], x + (long long)row[b] * N_IN[0] + k);
        }
        if (tid < CHUNK) {
            copy_later(&m.target[side][tid], y + row[tid]);
            if (inside(item)) copy_later(&m.weight[side][tid], weights + place(item));
            else m.weight[side][tid] = 0.f;
        }
    };
    Item item, next = after(item), second = after(next);
    if (tid < CHUNK) {
        m.row[0][tid] = row_of(item);
        m.row[1][tid] = row_of(next);
    }
    __syncthreads();
    fetch(item, 0);
    sync_network();

    int number = 0;
    bool is_active = active[n];
    unsigned key = (unsigned)keys[n];
    for (int t = 0; t < n_steps; t++) {
        const long long later = (long long)(t + 1 < n_steps ? t + 1 : t) * n_networks + n;
        const bool next_active = active[later];
        const unsigned next_key = (unsigned)keys[later];
        float loss = 0.f;
        for (int round = 0; round < n_rounds; round++) {
            const int member = rank + round * BLOCKS;
            float* own = m.own[round];
            float* d_own = m.d_own[round];
            for (int i = tid; i < N_OWN; i += THREADS) d_own[i] = 0.f;
            if (is_active) fold<0>(m, own);
            for (int chunk = 0; chunk < N_CHUNKS; chunk++, number++) {
                const int side = number % 2;
                const int row = row_of(second);
                wait_for_copies();
                __syncthreads();
                fetch(next, number + 1);
                if (is_active) {
                    const unsigned first_unit =
                        (unsigned)(chunk * CHUNK * N_MEMBERS + member) * (unsigned)N_UNITS;
                    forward<0>(m, m.inputs[side], a, first_unit, key);
                    if (tid < CHUNK) {
                        float* out = m.d[(N_LAYERS - 1) % 2] + tid;
                        loss += IS_CLASSES ? categorical(out, m.target[side][tid], m.weight[side][tid])
                                           : gaussian(out, m.target[side][tid], m.weight[side][tid]);
                    }
                    __syncthreads();
                    backward<N_LAYERS - 1>(m, m.inputs[side], a, own, d_own);
                }
                if (tid < CHUNK) m.row[(number + 2) % 4][tid] = row;
                next = second;
                second = after(second);
            }
        }
        const bool was_active = is_active;
        is_active = next_active;
        key = next_key;
        if (was_active) loss += repel(m, here, penalties[n]);
        const float all = was_active ? update(m, here, done, loss) : 0.f;
        if (here.is_first()) losses[(long long)t * n_networks + n] = all;
    }
    wait_for_copies();
    store(m, here, done);
}
