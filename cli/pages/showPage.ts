import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { makePrivateFolder } from '../../src/config/folders.ts'
import { cacheFolder } from '../../src/config/paths.ts'
import { openBrowser } from '../browser/openBrowser.ts'
import type { Context } from '../context/context.ts'
import { Failure, fileReason } from '../failures/failure.ts'
import { drawPage, type Page } from './page.ts'

const keptMs = 24 * 60 * 60 * 1000

/**
 * Keeps a page as a file that only this account can read. On a terminal it is opened in the browser; in a pipe, with `--json`, and
 * where there is no browser, its path is printed. Pages of more than a day are removed.
 * @throws Failure when the file cannot be written
 */
export async function showPage(context: Context, page: Page): Promise<void> {
  const { out } = context
  if (out.json || !out.terminal.stdout) {
    const path = await keep(page.name, drawPage(context, page))
    return out.json ? out.record({ path }, []) : out.line(path)
  }
  const { path, isOpen } = await openPage(context, page)
  if (isOpen) return out.done(`Opened ${path}`)
  out.line(path)
  out.done('There is no browser to open. Open that file yourself, or name a browser in BROWSER: board help environment')
}

/** Keeps a page as showPage does and opens it; tells where it is, and whether there was a browser. */
export async function openPage(context: Context, page: Page): Promise<{ path: string; isOpen: boolean }> {
  const path = await keep(page.name, drawPage(context, page))
  return { path, isOpen: await openBrowser(pathToFileURL(path).href) }
}

async function keep(name: string, text: string): Promise<string> {
  let reason: unknown
  for (const folderOf of [inCache, inTemporary]) {
    try {
      const folder = folderOf()
      const path = join(folder, `${name}-${randomBytes(6).toString('hex')}.html`)
      await writeFile(path, text, { mode: 0o600, flag: 'wx' })
      await removeOld(folder)
      return path
    } catch (error) {
      reason ??= error
    }
  }
  throw new Failure('failure', `the page cannot be written: ${fileReason(reason)}`, { see: 'board help environment' })
}

function inCache(): string {
  makePrivateFolder(cacheFolder())
  return ownFolder(join(cacheFolder(), 'pages'))
}

const inTemporary = (): string => ownFolder(join(tmpdir(), `board-pages-${process.getuid?.() ?? 'own'}`))

/** A folder for this account only. Below the temporary folder somebody else may have made one of that name, or a link. */
function ownFolder(folder: string): string {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const found = lstatSync(folder)
  if (!found.isDirectory() || (process.getuid && found.uid !== process.getuid()))
    throw new Error(`${folder} is not a folder of this account`)
  chmodSync(folder, 0o700)
  return folder
}

async function removeOld(folder: string): Promise<void> {
  const pages = (await readdir(folder).catch(() => [])).filter(name => name.endsWith('.html'))
  await Promise.all(
    pages.map(async name => {
      const path = join(folder, name)
      if (Date.now() - (await stat(path)).mtimeMs > keptMs) await rm(path)
    }),
  ).catch(() => {
    /* Another command removes them too. */
  })
}
