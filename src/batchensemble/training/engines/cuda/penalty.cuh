// The orthogonality penalty: for each layer and each of r, s and bias that members own, the mean squared cosine
// between members' vectors.

constexpr int PAIRS = N_MEMBERS > 1 ? N_MEMBERS * (N_MEMBERS - 1) : 1;

// `done(vector, sum)` takes the products of every vector with a member's, or with itself if that is -1.
template <class Memory, class Done>
__device__ __forceinline__ void products(const Memory& m, int member, Done done) {
    const int lane = threadIdx.x % LANES;
    for (int first = 0; first < VECTORS; first += 32) {
        const int vector = first + threadIdx.x / LANES, other = vector % N_MEMBERS;
        float sum = 0.f;
        if (vector < VECTORS) {
            const int run = vector / N_MEMBERS;
            const float* a = m.every[member < 0 ? other : member] + OWN_AT[run];
            const float* b = m.every[other] + OWN_AT[run];
            for (int k = lane; k < OWN_RUN[run]; k += LANES) sum += a[k] * b[k];
        }
#pragma unroll
        for (int step = 1; step < LANES; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (vector < VECTORS && lane == 0) done(vector, sum);
    }
}

// That of this block's members: adds its gradient to theirs, and returns a thread's part of its value. Blocks
// read each other's vectors, which none changes before all blocks have met in `update`.
template <class Memory>
__device__ float repel(Memory& m, const Place& at, float strength) {
    float value = 0.f;
    if constexpr (HAS_PENALTY) {
        const int tid = threadIdx.x;
        const float scale = strength / PAIRS;
        for (int e = tid; e < N_MEMBERS * (N_OWN + 1); e += THREADS) {
            const int member = e / (N_OWN + 1), i = e % (N_OWN + 1);
            m.every[member][i] = read_from(&m.own[member / BLOCKS][i], member % BLOCKS);
        }
        __syncthreads();
        products(m, -1, [&](int vector, float sum) { m.inverse[vector] = 1.f / fmaxf(sqrtf(sum), 1e-12f); });
        __syncthreads();
        for (int round = 0; round < at.n_rounds; round++) {
            const int member = at.rank + round * BLOCKS;
            products(m, member, [&](int vector, float sum) {
                const int other = vector % N_MEMBERS;
                const float lengths = m.inverse[vector] * m.inverse[vector - other + member];
                const float cosine = other == member ? 0.f : sum * lengths;
                m.cosine[round][vector] = cosine;
                value += scale * cosine * cosine;
            });
        }
        __syncthreads();
        for (int round = 0; round < at.n_rounds; round++) {
            const int member = at.rank + round * BLOCKS;
            for (int i = tid; i < N_OWN; i += THREADS) {
                int run = 0;
                while (i >= OWN_AT[run] + OWN_RUN[run]) run++;
                const float* inverse = m.inverse + run * N_MEMBERS;
                const float* cosines = m.cosine[round] + run * N_MEMBERS;
                float others = 0.f, squares = 0.f;
                for (int j = 0; j < N_MEMBERS; j++) {
                    others += cosines[j] * inverse[j] * m.every[j][i];
                    squares += cosines[j] * cosines[j];
                }
                const float unit = m.every[member][i] * inverse[member];
                m.d_own[round][i] += 4.f * scale * inverse[member] * (others - squares * unit);
            }
        }
    }
    return value;
}
