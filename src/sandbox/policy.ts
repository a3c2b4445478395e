import type { NetworkAccess, SandboxLimits } from '../contract/agents/sandbox.ts'
import type { Mount } from './mount.ts'

/** The files that one session can see, change and use. Everything else outside of the system is hidden. */
export interface SandboxPolicy {
  /** The account's home folder, which is empty except for the `mounts` in it. */
  home: string
  /** Folders and files outside of the system, in order: a later one covers an earlier one. Missing sources are omitted. */
  mounts: readonly Mount[]
  /** Files that bubblewrap reads from a descriptor at the start, so that no path on the host names them. */
  data?: ReadonlyArray<{ fd: number; target: string }>
  network: NetworkAccess
  limits: SandboxLimits
}
