/** Sets the environment that the processes of a run inherit. The workers start thousands of them. */
export default (): void => {
  // A developer's own board must not be reached.
  for (const name of ['BOARD_DATA_DIR', 'BOARD_URL', 'BOARD_TOKEN', 'BOARD_PROJECT']) delete process.env[name]
  // Node reads these certificates at each start, which takes 30 ms. Tests talk to this machine only, with their own certificates.
  delete process.env.NODE_EXTRA_CA_CERTS
  // With one arena, the C library returns freed memory. A worker's memory is copied whenever it starts a process.
  process.env.MALLOC_ARENA_MAX = '1'
}
