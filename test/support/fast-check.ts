import fc from 'fast-check';

// The same cases in each run, so that no run fails by chance. HALO_TEST_SEED chooses others.
fc.configureGlobal({ seed: Number(process.env.HALO_TEST_SEED ?? 1) });

export default fc;
