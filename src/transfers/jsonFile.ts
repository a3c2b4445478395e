import { open, type FileHandle } from 'node:fs/promises'
import { importError } from './importErrors.ts'
import { BrokenJson, firstByte, membersAt, objectsIn, parse } from './json.ts'

/** A value of a file, and its place there. */
export interface Placed {
  place: string
  value: unknown
}

/** A JSON file of any size whose outermost value is a list, or an object that can contain lists. */
export interface JsonFile {
  /** The names of the outermost object's members. Empty for a list. */
  names: readonly string[]
  /** Returns a small member. */
  small(name: string): Promise<unknown>
  /**
   * The entries of a member that is a list, or of the outermost list without a name, one after the other. A missing member has
   * none.
   */
  entries(name?: string): AsyncIterable<Placed>
  close(): Promise<void>
}

/** The maximum size of a list entry or a small member. */
const maxBytes = 8 * 1024 * 1024

/** Opens a JSON file and finds where its members begin and end. @throws Problem INVALID_IMPORT */
export async function openJson(path: string): Promise<JsonFile> {
  const file = await open(path, 'r')
  try {
    const first = await firstByte(file)
    if (first?.char !== '{' && first?.char !== '[') throw importError('', 'the file must be JSON: an object or a list')
    const members =
      first.char === '{'
        ? await withPlace(() => indexMembers(file, first.at))
        : new Map<string, { start: number; end: number }>()
    return {
      names: [...members.keys()],
      close: () => file.close(),
      small: name => withPlace(() => readSmall(file, name, members.get(name)!)),
      entries: name => entriesOf(file, name === undefined ? first.at : members.get(name)?.start, name),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

/**
 * The objects of a file of one or more JSON texts (`objectsIn`).
 * @throws Problem INVALID_IMPORT
 */
export async function* readObjects(path: string): AsyncGenerator<Placed> {
  const file = await open(path, 'r')
  try {
    if (!(await firstByte(file))) throw importError('', 'the file must be JSON: it is empty')
    const objects = objectsIn(file, maxBytes)
    for (let index = 0; ; index++) {
      const place = String(index)
      const next = await withPlace(() => objects.next(), place)
      if (next.done) return
      const { text, start } = next.value
      yield { place, value: await withPlace(async () => parse(text, start), place) }
    }
  } finally {
    await file.close()
  }
}

async function indexMembers(file: FileHandle, start: number): Promise<Map<string, { start: number; end: number }>> {
  const members = new Map<string, { start: number; end: number }>()
  const found = membersAt(file, start)
  for (;;) {
    const { done, value } = await found.next()
    if (done) {
      if (await firstByte(file, value)) throw new BrokenJson('has data after its end', value)
      return members
    }
    if (members.has(value.key!)) throw importError(value.key!.slice(0, 100), 'occurs more than once')
    members.set(value.key!, value)
  }
}

async function readSmall(
  file: FileHandle,
  name: string,
  { start, end }: { start: number; end: number },
): Promise<unknown> {
  if (end - start > maxBytes) throw importError(name, `must have at most ${maxBytes} bytes`)
  const { buffer } = await file.read(Buffer.alloc(end - start), 0, end - start, start)
  return parse(buffer.toString(), start)
}

async function* entriesOf(
  file: FileHandle,
  start: number | undefined,
  name: string | undefined,
): AsyncGenerator<Placed> {
  if (start === undefined) return
  if ((await firstByte(file, start))?.char !== '[') throw importError(name ?? '', 'must be a list')
  const members = membersAt(file, start, maxBytes)
  for (let index = 0; ; index++) {
    const place = name === undefined ? String(index) : `${name}.${index}`
    const next = await withPlace(() => members.next(), place)
    if (next.done) {
      if (name === undefined && (await firstByte(file, next.value)))
        throw importError('', 'the file has data after its end')
      return
    }
    const { text, start: at } = next.value
    yield { place, value: await withPlace(async () => parse(text, at), place) }
  }
}

/** Adds the place to an error in the JSON. */
async function withPlace<T>(read: () => Promise<T>, place = ''): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw error instanceof BrokenJson
      ? importError(place, `${place === '' ? 'the file ' : ''}${error.message} (byte ${error.at})`)
      : error
  }
}
