import type { IOType } from 'node:child_process'
import { open } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const closeOnExec = 0o2000000
const maxDescriptor = 4096

/** What stands from descriptor 3 on in the `stdio` of a new process. */
export type Covered = ReadonlyArray<number | 'ignore'>

/**
 * This process may have been started with more than three, a lock
 * of the script around it, say, and every process that it starts would get those too: they lead to /dev/null there.
 */
export async function coverInherited(): Promise<Covered> {
  const inherited = await inheritedDescriptors()
  if (inherited.length === 0) return []
  // It stays open for as long as processes are started.
  const nowhere = await promisify(open)('/dev/null', 'r+')
  return Array.from({ length: inherited.at(-1)! - 2 }, (_, at) => (inherited.includes(at + 3) ? nowhere : 'ignore'))
}

/** What Node and its libraries open is not handed on, and at its start Node sees to what it finds up to the first gap behind 15. */
async function inheritedDescriptors(): Promise<number[]> {
  const files = await readdir('/proc/self/fdinfo').catch(() => [])
  const descriptors = files.map(Number).filter(descriptor => descriptor > 2 && descriptor < maxDescriptor)
  const handedOn = await Promise.all(descriptors.map(isHandedOn))
  return descriptors.filter((_, at) => handedOn[at]).toSorted((a, b) => a - b)
}

const isHandedOn = async (descriptor: number): Promise<boolean> => {
  const info = await readFile(`/proc/self/fdinfo/${descriptor}`, 'latin1').catch(() => '')
  const [, flags] = /^flags:\s*([0-7]+)$/m.exec(info) ?? []
  return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0
}

/** Adds descriptors to a `stdio`, each at its own number. These are open here, so `coverInherited` does not use their numbers. */
export function passDescriptors(
  stdio: ReadonlyArray<IOType | 'ipc' | number>,
  descriptors: readonly number[],
): Array<IOType | 'ipc' | number> {
  const count = Math.max(stdio.length, ...descriptors.map(each => each + 1))
  const all = [...stdio, ...Array.from({ length: count - stdio.length }, () => 'ignore' as const)]
  for (const each of descriptors) all[each] = each
  return all
}
