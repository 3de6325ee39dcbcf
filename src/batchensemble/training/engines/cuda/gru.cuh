// A step of the plain GRU. Layer 0 reads xh, inputs and hidden state one below the other: reset, update, and the
// candidate's parts that come from the inputs and from the hidden state.
//
// `forward` puts the new hidden state in place of the old. `backward` computes the gates anew, takes d_h one
// step back, and leaves the gradient of the inputs in d_x.

constexpr int CELL_ROWS = 4 * SIZE;  // of numbers that a step works with

struct Cell {
    float *xh, *gates;

    template <class Memory>
    __device__ explicit Cell(Memory& m) : xh(m.xh), gates(m.work) {}

    __device__ __forceinline__ void set_input(int at, float value) const { xh[at] = value; }

    // `use(h, d_h, gates)` takes a number of the hidden state, and its four gates SIZE rows apart.
    template <class Memory, class Use>
    __device__ __forceinline__ void step(Memory& m, Use use) const {
        product<4 * SIZE, N_XH>(m.by_in, xh, [&](int j, int row, const float* z) {
            float v[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float value = z[i] + m.bias[j];
                v[i] = j < 2 * SIZE ? sigmoid(value) : value;
            }
            set_four(gates + j * STRIDE + row, v);
        });
        __syncthreads();
        for (int e = threadIdx.x; e < SIZE * CHUNK; e += THREADS) {
            const int at = e / CHUNK * STRIDE + e % CHUNK;
            use(xh[N_INPUTS * STRIDE + at], m.d_h[at], gates + at);
        }
        __syncthreads();
    }

    template <class Memory>
    __device__ void forward(Memory& m) const {
        step(m, [](float& h, float&, const float* gate) {
            const float c = tanh_of(gate[2 * SIZE * STRIDE] + gate[0] * gate[3 * SIZE * STRIDE]);
            h = c + gate[SIZE * STRIDE] * (h - c);
        });
    }

    template <class Memory>
    __device__ void backward(Memory& m) const {
        step(m, [](float& h, float& d_h, float* gate) {
            float &reset = gate[0], &update = gate[SIZE * STRIDE];
            float &on_x = gate[2 * SIZE * STRIDE], &on_h = gate[3 * SIZE * STRIDE];
            const float c = tanh_of(on_x + reset * on_h), r = reset, u = update, d = d_h;
            const float d_c = d * (1.f - u) * (1.f - c * c);
            reset = d_c * on_h * r * (1.f - r);
            update = d * (h - c) * u * (1.f - u);
            on_x = d_c;
            on_h = d_c * r;
            d_h = d * u;
        });
        outer<4 * SIZE, N_XH, true>(gates, xh, m.g);
        add_sums<4 * SIZE>(gates, m.sums);
        product<N_XH, 4 * SIZE>(m.by_out, gates, [&](int k, int row, const float* z) {
            if (k < N_INPUTS) {
                set_four(m.d_x + k * STRIDE + row, z);
                return;
            }
            float* to = m.d_h + (k - N_INPUTS) * STRIDE + row;
#pragma unroll
            for (int i = 0; i < 4; i++) to[i] += z[i];
        });
        __syncthreads();
    }
};
