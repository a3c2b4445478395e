/**
 * A place in the file system that an agent sees. Mounts apply in order: a later mount covers an earlier one at the same
 * path.
 */
export interface Mount {
  /** rw: the folder or file `source` (or `target` itself), writable. ro: the same, read-only. tmpfs: an empty folder in memory. */
  kind: 'rw' | 'ro' | 'tmpfs'
  source?: string
  target: string
  /** Whether the session fails if the source is a link, or is behind one, because an agent could have created the link. */
  isPlain?: boolean
  /** A descriptor of the source. bubblewrap inherits the descriptor and mounts the object that it refers to, not the path. */
  descriptor?: number
}
