import { open } from 'node:fs/promises'

/** An attachment's file, and its exact size in bytes. */
export interface ContentFile {
  id: number
  size: number
  path: string
}

/** 1 MiB in base64. A multiple of 3, so that only an attachment's last piece has padding. */
const pieceBytes = 786_432
const separator = ',\n'
const before = (id: number, isFirst: boolean) => `${isFirst ? '\n' : separator}{"attachmentId":${id},"content":"`
const after = '"}'

/** The length of what `piecesOf` yields, so that Content-Length is known before any file is read. */
export function lengthOfPieces(files: readonly ContentFile[]): number {
  let length = 0
  for (const { id, size } of files)
    for (let at = 0; at < size; at += pieceBytes)
      length += before(id, length === 0).length + Math.ceil(Math.min(pieceBytes, size - at) / 3) * 4 + after.length
  return length
}

/** Yields the files as records of the part `contents`, piece by piece. @throws Error when a file has become shorter */
export async function* piecesOf(files: readonly ContentFile[]): AsyncGenerator<string> {
  let isFirst = true
  for (const { id, size, path } of files) {
    const file = await open(path)
    try {
      for (let at = 0; at < size; at += pieceBytes) {
        const bytes = await readAll(file, at, Math.min(pieceBytes, size - at))
        yield before(id, isFirst) + bytes.toString('base64') + after
        isFirst = false
      }
    } finally {
      await file.close()
    }
  }
}

async function readAll(file: Awaited<ReturnType<typeof open>>, start: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  for (let got = 0; got < length;) {
    const { bytesRead } = await file.read(bytes, got, length - got, start + got)
    if (bytesRead === 0) throw new Error("An attachment's file has become shorter.")
    got += bytesRead
  }
  return bytes
}
