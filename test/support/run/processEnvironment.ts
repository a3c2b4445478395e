/** What the processes of a run inherit, so that each takes less: the workers start thousands. */
export default (): void => {
  // Node reads them whenever it starts: 30 ms. Tests talk to this machine only, and name their own certificates.
  delete process.env.NODE_EXTRA_CA_CERTS
  // The C library otherwise keeps what each thread has freed to itself, and what a worker holds is copied when it starts a process.
  process.env.MALLOC_ARENA_MAX = '1'
}
