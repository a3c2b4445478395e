import { readdir, readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createSemaphore } from '../async/semaphore.ts'

const batchSize = 16
const maxSearches = 2

/**
 * Whether the process that holds a socket is in the server's own user namespace. False if none is found. A process in a sandbox
 * or container on the machine's own network has the account's number, but another user namespace.
 * @param inode of the socket
 * @param uid the account that holds it
 */
type IsHeldOutsideSandboxes = (inode: string, uid: number) => Promise<boolean>

export function createHolderSearch(): IsHeldOutsideSandboxes {
  const withSlot = createSemaphore(maxSearches)
  return (inode, uid) => withSlot(() => search(`socket:[${inode}]`, uid))
}

async function search(wanted: string, uid: number): Promise<boolean> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  // Most connections are opened by recently started processes. With 260 processes, checking all takes 34 ms, and checking the
  // youngest 6.
  pids.sort((a, b) => Number(b) - Number(a))
  for (let at = 0; at < pids.length; at += batchSize) {
    const batch = pids.slice(at, at + batchSize)
    const holding = await Promise.all(batch.map(pid => holds(pid, wanted, uid)))
    const holders = batch.filter((_, index) => holding[index])
    if (holders.length > 0) return (await Promise.all(holders.map(isInOwnNamespace))).every(Boolean)
  }
  return false
}

async function holds(pid: string, wanted: string, uid: number): Promise<boolean> {
  const folder = join('/proc', pid)
  try {
    if ((await stat(folder)).uid !== uid) return false
    const files = await readdir(join(folder, 'fd'))
    const links = await Promise.all(files.map(file => readlink(join(folder, 'fd', file)).catch(() => '')))
    return links.includes(wanted)
  } catch {
    return false
  }
}

async function isInOwnNamespace(pid: string): Promise<boolean> {
  const [own, its] = await Promise.all([
    readlink('/proc/self/ns/user'),
    readlink(join('/proc', pid, 'ns/user')).catch(() => undefined),
  ])
  return own === its
}
