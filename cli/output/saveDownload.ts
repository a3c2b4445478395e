import { createWriteStream } from 'node:fs'
import { link, mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Download } from '../../src/client/index.ts'
import { Failure, fileReason, usage } from '../failures/failure.ts'
import type { Out } from './output.ts'
import { askForLine, type Asker } from '../input/prompt.ts'
import { writeStream } from './streams.ts'

/**
 * Checks that the folder of `output` exists before the server creates anything. Offers to create a missing folder at a terminal.
 * @throws Failure (usage)
 */
export async function requireOutput(asker: Asker, output: string | undefined): Promise<void> {
  if (output === undefined || output === '-') return
  // A path with a trailing slash names a folder.
  const folder = /[/\\]$/.test(output) ? output : dirname(output)
  const found = await stat(folder).catch(() => undefined)
  if (found?.isDirectory()) return
  if (found) throw usage(`${folder} is not a folder`)
  if (!asker.mayAsk) throw usage(`folder ${folder} does not exist`, { hint: `create it first: mkdir -p ${folder}` })
  const answer = await askForLine(asker, `Folder ${folder} does not exist. Create it? [y/N]`, '--output')
  if (!/^y(es)?$/i.test(answer)) throw new Failure('failure', 'nothing was written')
  await mkdir(folder, { recursive: true })
}

/**
 * Saves a file that comes from the server, whole or not at all, and prints its path.
 * @param output a file, which can exist; a folder; `-` for stdout; or undefined for the server's file name in the working folder
 * @param fallback the file name if the server sends none
 * @param mode the file permissions
 * @throws Failure (conflict) when a file of the server's name exists.
 */
export async function saveDownload(
  out: Out,
  download: Download,
  output: string | undefined,
  fallback: string,
  mode = 0o666,
): Promise<void> {
  if (download.missing) warnOf(out, download.missing)
  const progress = out.progress('Downloading', download.size)
  let got = 0
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, pass) {
      progress.to((got += chunk.length))
      pass(null, chunk)
    },
  })
  if (output === '-') return writeStream(download.body, counted).finally(() => progress.done())
  const { path, mayReplace } = await resolveTarget(output, safeName(download.filename) ?? fallback)
  const part = join(dirname(path), `.board-${process.pid}.part`)
  try {
    await pipeline(download.body, counted, createWriteStream(part, { flags: 'wx', mode }))
    await (mayReplace ? rename(part, path) : link(part, path))
  } catch (error) {
    download.body.destroy()
    throw explainWriteError(error as NodeJS.ErrnoException, path)
  } finally {
    progress.done()
    await rm(part, { force: true })
  }
  if (out.json) await out.value({ path, size: got })
  else out.line(path)
}

function warnOf(out: Out, { files, machines }: NonNullable<Download['missing']>): void {
  const where = machines.length === 0 ? '' : `; no server is running on ${machines.join(', ')}`
  out.warn(`the files of ${files === 1 ? '1 attachment' : `${files} attachments`} are missing${where}`)
}

function explainWriteError(error: NodeJS.ErrnoException, path: string): Error {
  if (error.code === 'EEXIST') return new Failure('conflict', `${path} exists`, { hint: `to replace it: -o ${path}` })
  if (error.code === 'ENOENT') return usage(`${dirname(path)} is not a folder`)
  return /^(EACCES|EPERM|EROFS|ENOSPC|EISDIR|ENOTDIR)$/.test(error.code ?? '')
    ? new Failure('failure', `${path} cannot be written: ${fileReason(error)}`)
    : error
}

async function resolveTarget(output: string | undefined, name: string): Promise<{ path: string; mayReplace: boolean }> {
  if (output === undefined) return { path: name, mayReplace: false }
  const isFolder = (await stat(output).catch(() => undefined))?.isDirectory()
  return isFolder ? { path: join(output, name), mayReplace: false } : { path: output, mayReplace: true }
}

/** Returns the server's file name without folders, control characters and leading periods. */
function safeName(filename: string | undefined): string | undefined {
  const name = filename
    ?.split(/[/\\]/)
    .at(-1)
    ?.replace(/[\u0000-\u001f\u007f-\u009f]/g, '_')
    .replace(/^\.+/, '')
  return name || undefined
}
