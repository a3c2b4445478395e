import type { NetworkAccess, SandboxLimits } from '../contract/sandbox.ts'
import type { Mount } from './mount.ts'

/** What one session may see, change and use. Everything that is not named here or a part of the system is not there. */
export interface SandboxPolicy {
  /** The account's home folder, which is empty but for what `mounts` put into it. */
  home: string
  /** Folders and files beside the system, in order: a later one covers an earlier one. Sources that are missing are left out. */
  mounts: readonly Mount[]
  /** Files that bubblewrap reads from a descriptor at the start, so that no path on the host names them. */
  data?: ReadonlyArray<{ fd: number; target: string }>
  network: NetworkAccess
  limits: SandboxLimits
}
