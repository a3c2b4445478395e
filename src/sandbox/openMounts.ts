import { constants } from 'node:fs'
import { open, readlink, type FileHandle } from 'node:fs/promises'
import { LaunchFailed } from '../process/spawn.ts'
import type { Mount } from './mount.ts'

/** The sources of a session's mounts, opened once. Each process of the session gets these files and folders. */
export interface OpenMounts {
  /**
   * The mounts with their open sources. A file that its owner replaced or deleted is opened again, never through a link.
   * @throws LaunchFailed if a source was moved, is missing, or was replaced by a link
   */
  current(): Promise<Mount[]>
  close(): Promise<void>
}

interface Source {
  handle: FileHandle
  /** Handles that were replaced. A process that starts can still use their descriptors. */
  replaced: FileHandle[]
  /** The path of the opened object. It contains no link. */
  path: string
}

/** Linux opens a path without reading it, as `O_PATH`. Node has no name for the flag. */
const pathOnly = 0o10000000
const deletedMark = ' (deleted)'

/**
 * Opens the sources of mounts on Linux. Leaves out mounts whose source is missing.
 * @throws LaunchFailed if the source of a plain mount is a link or is behind one
 */
export async function openMounts(mounts: readonly Mount[]): Promise<OpenMounts> {
  const opened = await Promise.allSettled(mounts.map(openMount))
  const found = opened.flatMap(result => (result.status === 'fulfilled' && result.value ? [result.value] : []))
  const sources = found.flatMap(({ source }) => source ?? [])
  const close = async () => {
    await Promise.all(sources.flatMap(({ handle, replaced }) => [handle, ...replaced]).map(each => each.close()))
  }
  const failed = opened.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
  if (failed) {
    await close()
    throw failed.reason
  }
  return {
    current: async () => {
      await Promise.all(sources.map(refresh))
      return found.map(({ mount, source }) =>
        source ? { ...mount, source: source.path, descriptor: source.handle.fd } : mount,
      )
    },
    close,
  }
}

async function openMount(mount: Mount): Promise<{ mount: Mount; source?: Source } | undefined> {
  if (mount.kind === 'tmpfs') return { mount }
  const path = mount.source ?? mount.target
  const source = await openSource(path)
  if (source && mount.isPlain && source.path !== path) {
    await source.handle.close()
    throw new LaunchFailed('failed', `${path} is a link, or is behind one. Name the folder or file itself.`)
  }
  return source && { mount, source }
}

/** Returns undefined if nothing is at the path. */
async function openSource(path: string): Promise<Source | undefined> {
  const handle = await open(path, constants.O_RDONLY | pathOnly).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new LaunchFailed('failed', `${path} cannot be opened (${error.code}).`, error)
  })
  return handle && { handle, replaced: [], path: await pathOf(handle) }
}

const pathOf = (handle: FileHandle): Promise<string> => readlink(`/proc/self/fd/${handle.fd}`)

/** Checks that the source is still at its path, because bubblewrap mounts by path. Opens a replaced file again. */
async function refresh(source: Source): Promise<void> {
  const path = await pathOf(source.handle)
  if (path === source.path) return
  const replacement = path === source.path + deletedMark ? await openSource(source.path) : undefined
  if (replacement?.path !== source.path) {
    await replacement?.handle.close()
    throw new LaunchFailed('failed', `${source.path} was moved, deleted or replaced by a link while the agent worked.`)
  }
  source.replaced.push(source.handle)
  source.handle = replacement.handle
}
