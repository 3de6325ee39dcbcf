// A step of GRUBE for a member. Layer 0 is reset and update together, layer 1 the candidate; both read xh,
// inputs and hidden state one below the other.
//
// `forward` puts the new hidden state in place of the old. `backward` computes the gates anew, takes d_h one
// step back, and leaves the gradient of the inputs in d_x.

constexpr int CELL_ROWS = N_XH + 3 * SIZE;  // of numbers that a step works with

struct Cell {
    float *xh, *xrh, *gates, *c;  // xrh is xh with the hidden state reset

    template <class Memory>
    __device__ explicit Cell(Memory& m) : xh(m.xh), xrh(m.work) {
        gates = xrh + N_XH * STRIDE;    // reset and update, then their gradients
        c = gates + 2 * SIZE * STRIDE;  // the gradient of the candidate
    }

    __device__ __forceinline__ void set_input(int at, float value) const {
        xh[at] = value;
        xrh[at] = value;
    }

    template <class Memory>
    __device__ void reset_and_update(Memory& m) const {
        product<2 * SIZE, N_XH>(m.by_in, xh, [&](int j, int row, const float* z) {
            float v[4];
#pragma unroll
            for (int i = 0; i < 4; i++) v[i] = sigmoid(z[i] + m.bias[j]);
            set_four(gates + j * STRIDE + row, v);
            if (j >= SIZE) return;
            const int k = (N_INPUTS + j) * STRIDE + row;
#pragma unroll
            for (int i = 0; i < 4; i++) v[i] *= xh[k + i];
            set_four(xrh + k, v);
        });
        __syncthreads();
    }

    // `use(j, row, candidates)` takes four rows of one unit.
    template <class Memory, class Use>
    __device__ __forceinline__ void candidate(Memory& m, Use use) const {
        product<SIZE, N_XH>(m.by_in + by_in_before(1), xrh, [&](int j, int row, const float* z) {
            float v[4];
#pragma unroll
            for (int i = 0; i < 4; i++) v[i] = tanh_of(z[i] + m.bias[outs_before(1) + j]);
            use(j, row, v);
        });
        __syncthreads();
    }

    template <class Memory>
    __device__ void forward(Memory& m) const {
        reset_and_update(m);
        candidate(m, [&](int j, int row, const float* c) {
            float* h = xh + (N_INPUTS + j) * STRIDE + row;
            const float* update = gates + (SIZE + j) * STRIDE + row;
#pragma unroll
            for (int i = 0; i < 4; i++) h[i] += update[i] * (c[i] - h[i]);
        });
    }

    template <class Memory>
    __device__ void backward(Memory& m) const {
        reset_and_update(m);
        candidate(m, [&](int j, int row, const float* own) {
            const float* h = xh + (N_INPUTS + j) * STRIDE + row;
            float* update = gates + (SIZE + j) * STRIDE + row;
            float* d_h = m.d_h + j * STRIDE + row;
            float* d_c = c + j * STRIDE + row;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float u = update[i], d = d_h[i];
                d_c[i] = d * u * (1.f - own[i] * own[i]);
                update[i] = d * (own[i] - h[i]) * u * (1.f - u);
                d_h[i] = d * (1.f - u);
            }
        });
        outer<SIZE, N_XH, true>(c, xrh, m.g + g_before(1));
        add_sums<SIZE>(c, m.sums + outs_before(1));
        product<N_XH, SIZE>(m.by_out + by_out_before(1), c, [&](int k, int row, const float* z) {
            if (k < N_INPUTS) {
                set_four(m.d_x + k * STRIDE + row, z);
                return;
            }
            const int j = k - N_INPUTS;
            float* reset = gates + j * STRIDE + row;
            float* d_h = m.d_h + j * STRIDE + row;
            const float* h = xh + k * STRIDE + row;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float r = reset[i];
                d_h[i] += z[i] * r;
                reset[i] = z[i] * h[i] * r * (1.f - r);
            }
        });
        __syncthreads();
        outer<2 * SIZE, N_XH, true>(gates, xh, m.g);
        add_sums<2 * SIZE>(gates, m.sums);
        product<N_XH, 2 * SIZE>(m.by_out, gates, [&](int k, int row, const float* z) {
            float* to = k < N_INPUTS ? m.d_x + k * STRIDE + row : m.d_h + (k - N_INPUTS) * STRIDE + row;
#pragma unroll
            for (int i = 0; i < 4; i++) to[i] += z[i];
        });
        __syncthreads();
    }
};
