import { randomBytes } from 'node:crypto'
import { copyFile, link, mkdir, open, rm, stat, type FileHandle } from 'node:fs/promises'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as breathe } from 'node:timers/promises'
import type { Clock } from '../async/clock.ts'
import { version as programVersion } from '../config/version.ts'
import { Problem } from '../contract/errors.ts'
import { storedNames } from '../store/cards/attachments.ts'
import { listBoards } from '../store/boards/boards.ts'
import type { Database, Reader } from '../store/engine/database.ts'
import { exportedCardIds, organizationProjects } from '../store/projects/exports.ts'
import { readOrganization } from '../store/accounts/organizations.ts'
import { readProject } from '../store/projects/projects.ts'
import type { AttachmentFiles } from '../files/attachmentFiles.ts'
import { noAccount } from '../domain/accounts/caller.ts'
import { readAttachmentRecords } from './attachmentParts.ts'
import { bringFiles, type RemoteAttachment, type MachineOf, type MissingFile } from './remoteAttachments.ts'
import { lengthOfPieces, piecesOf, type ContentFile } from './contentPieces.ts'
import type { Scope } from './part.ts'
import { parts } from './parts.ts'
import { version } from './records.ts'

/** The dependencies of an export. `transfersDir` contains files while they are sent. */
export interface ExportContext {
  db: Database
  attachmentFiles: Pick<AttachmentFiles, 'folder'>
  transfersDir: string
  clock: Clock
  machineOf: MachineOf
}

/** The exported object, and the exporting account. */
export type Exported = ({ projectId: number } | { organizationId: number }) & { exporterId: number }

/** An export that is ready to be sent, `size` bytes long. The receiver closes it. */
export interface Export {
  size: number
  /**
   * Attachments whose file is missing, of another size, or on a machine without a running daemon. The export does not contain
   * their content.
   */
  missing: readonly MissingFile[]
  stream(): AsyncGenerator<Buffer | string>
  close(): Promise<void>
}

const bufferLength = 262_144
const end = '\n]}\n'

/**
 * Writes a snapshot of a project, or of an organization with its projects (README, "Export and import"). The rows go to a file
 * first, page by page, so that a slow client blocks nothing. Attachments stay in place, under a second name that survives their
 * deletion, and those of other machines are fetched.
 * @throws Problem PROJECT_NOT_FOUND, ORGANIZATION_NOT_FOUND, DISK_FULL, SHUTTING_DOWN, or the signal's reason
 */
export async function makeExport(context: ExportContext, of: Exported, signal: AbortSignal): Promise<Export> {
  const folder = join(context.transfersDir, `export-${randomBytes(8).toString('hex')}`)
  const close = () => rm(folder, { recursive: true, force: true })
  await mkdir(folder, { mode: 0o700 })
  try {
    const rows = join(folder, 'rows.json')
    const { kept, away } = await context.db.snapshot(async db => {
      const scope = await scopeOf(db, of)
      await writeRows(rows, db, scope, context.clock(), signal)
      return keepFiles(context, folder, db, scope, signal)
    })
    const brought = await bringFiles(context.machineOf, away, folder, signal)
    const files = [...kept, ...brought.files]
    const missing = await stillThere(context.db, brought.missing)
    const between = beforeContents(missing)
    return {
      size: (await stat(rows)).size + Buffer.byteLength(between) + lengthOfPieces(files) + end.length,
      missing,
      close,
      stream: async function* () {
        yield* createReadStream(rows) as AsyncIterable<Buffer>
        yield between
        yield* piecesOf(files)
        yield end
      },
    }
  } catch (error) {
    await close()
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC'
      ? new Problem('DISK_FULL', undefined, { cause: error, retryAfterSecs: 30 })
      : error
  }
}

async function scopeOf(db: Reader, of: Exported): Promise<Scope> {
  if ('projectId' in of && !(await readProject(db, of.projectId))) throw new Problem('PROJECT_NOT_FOUND')
  if ('organizationId' in of && !(await readOrganization(db, noAccount, of.organizationId)))
    throw new Problem('ORGANIZATION_NOT_FOUND')
  const ids = 'projectId' in of ? [of.projectId] : await organizationProjects(db, of.organizationId)
  const projects: Array<Scope['projects'][number]> = []
  for (const id of ids) projects.push({ id, cardIds: await cardIdsOf(db, id) })
  return { organizationId: 'organizationId' in of ? of.organizationId : null, exporterId: of.exporterId, projects }
}

/** The cards of all boards of a project in order of creation. */
async function cardIdsOf(db: Reader, projectId: number): Promise<number[]> {
  const ids: number[] = []
  for (const board of await listBoards(db, projectId)) {
    for (
      let page = await exportedCardIds(db, board.id, 0);
      page.length > 0;
      page = await exportedCardIds(db, board.id, page.at(-1)!)
    ) {
      ids.push(...page)
      await breathe()
    }
  }
  return ids.sort((a, b) => a - b)
}

async function writeRows(path: string, db: Reader, scope: Scope, now: Date, signal: AbortSignal): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    const out = new Out(file)
    const organization =
      scope.organizationId === null
        ? null
        : { name: (await readOrganization(db, noAccount, scope.organizationId))!.name }
    const head = JSON.stringify({
      format: 'board',
      version,
      exportedAt: now.toISOString(),
      program: `board ${programVersion}`,
      organization,
    })
    await out.write(head.slice(0, -1))
    for (const { name, read } of parts) {
      if (!read) continue
      await out.write(`,\n${JSON.stringify(name)}:[`)
      let between = '\n'
      for await (const records of read(db, scope)) {
        signal.throwIfAborted()
        await breathe()
        if (records.length === 0) continue
        await out.write(between + records.join(',\n'))
        between = ',\n'
      }
      await out.write(']')
    }
    await out.flush()
  } finally {
    await file.close()
  }
}

/** Buffers writes into larger pieces. */
class Out {
  readonly #file: FileHandle
  #text = ''

  constructor(file: FileHandle) {
    this.#file = file
  }

  async write(text: string): Promise<void> {
    this.#text += text
    if (this.#text.length > bufferLength) await this.flush()
  }

  async flush(): Promise<void> {
    const text = this.#text
    this.#text = ''
    await this.#file.appendFile(text)
  }
}

async function keepFiles(
  context: ExportContext,
  folder: string,
  db: Reader,
  { projects }: Scope,
  signal: AbortSignal,
): Promise<{ kept: ContentFile[]; away: RemoteAttachment[] }> {
  const kept: ContentFile[] = []
  const away: RemoteAttachment[] = []
  for (const { id: projectId, cardIds } of projects) {
    for (let from = 0; from < cardIds.length; from += 1000) {
      signal.throwIfAborted()
      for (const { id, size, sha256, storedAs } of await readAttachmentRecords(db, cardIds.slice(from, from + 1000))) {
        const path = join(folder, storedAs)
        if (await keepFile(join(context.attachmentFiles.folder, storedAs), path, size)) kept.push({ id, size, path })
        else away.push({ id, projectId, size, sha256, storedAs })
      }
      await breathe()
    }
  }
  return { kept, away }
}

/** Returns the files whose attachments still exist. An attachment that is being deleted also lacks its file, but is not reported. */
async function stillThere(db: Reader, missing: readonly MissingFile[]): Promise<MissingFile[]> {
  const there: MissingFile[] = []
  for (let from = 0; from < missing.length; from += 500) {
    const files = missing.slice(from, from + 500)
    const names = new Set(
      await storedNames(
        db,
        files.map(({ storedAs }) => storedAs),
      ),
    )
    there.push(...files.filter(({ storedAs }) => names.has(storedAs)))
  }
  return there
}

function beforeContents(missing: readonly MissingFile[]): string {
  const records = missing.map(({ id, machine }) => JSON.stringify({ attachmentId: id, machine }))
  return `${records.length === 0 ? '' : `,\n"missing":[\n${records.join(',\n')}]`},\n"contents":[`
}

/** Links or copies a file, and returns whether it has the expected size. */
async function keepFile(path: string, kept: string, size: number): Promise<boolean> {
  try {
    await link(path, kept).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOSPC') throw error
      await copyFile(path, kept)
    })
    return (await stat(kept)).size === size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
