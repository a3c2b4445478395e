/** A place in the file system that an agent sees. Mounts apply in order: a later one covers what an earlier one has there. */
export interface Mount {
  /** rw: the folder or file `source` (or `target` itself), writable. ro: the same, read-only. tmpfs: an empty folder in memory. */
  kind: 'rw' | 'ro' | 'tmpfs'
  source?: string
  target: string
}
