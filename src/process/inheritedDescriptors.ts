import type { IOType } from 'node:child_process'
import { open } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const closeOnExec = 0o2000000
const maxDescriptor = 4096

/** The `stdio` entries of a new process from descriptor 3 on. */
export type Covered = ReadonlyArray<number | 'ignore'>

/**
 * This process might have inherited more than three descriptors, for example a lock of the script around it. Every process that it starts
 * would inherit them as well, so the new process gets /dev/null in their place.
 */
export async function coverInherited(): Promise<Covered> {
  const inherited = await inheritedDescriptors()
  if (inherited.length === 0) return []
  // The descriptor stays open as long as processes are started.
  const nowhere = await promisify(open)('/dev/null', 'r+')
  return Array.from({ length: inherited.at(-1)! - 2 }, (_, at) => (inherited.includes(at + 3) ? nowhere : 'ignore'))
}

/**
 * Returns the inherited descriptors. Descriptors that Node and its libraries open are not inherited. When Node starts, it closes the
 * descriptors that it finds up to the first gap after 15.
 */
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

/** Adds descriptors to a `stdio`, each at its own number. They are open here, so `coverInherited` does not use their numbers. */
export function passDescriptors(
  stdio: ReadonlyArray<IOType | 'ipc' | number>,
  descriptors: readonly number[],
): Array<IOType | 'ipc' | number> {
  const count = Math.max(stdio.length, ...descriptors.map(each => each + 1))
  const all = [...stdio, ...Array.from({ length: count - stdio.length }, () => 'ignore' as const)]
  for (const each of descriptors) all[each] = each
  return all
}
