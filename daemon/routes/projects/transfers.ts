import { Readable } from 'node:stream'
import { join } from 'node:path'
import type { App } from '../../../src/app.ts'
import { Problem } from '../../../src/contract/errors.ts'
import { contract, type Contract } from '../../../src/contract/index.ts'
import { removeFile, saveFile } from '../../../src/files/attachmentFiles.ts'
import type { SavedFile } from '../../../src/store/cards/attachments.ts'
import { findAdministered } from '../../../src/domain/accounts/organizations.ts'
import { find as findProject } from '../../../src/domain/projects/projects.ts'
import { cleanFilename } from '../../../src/files/filenames.ts'
import { makeExport, type Export } from '../../../src/transfers/export.ts'
import { loadMarkdownReader } from '../../../src/transfers/formats/markdownThread.ts'
import type { ImportOptions } from '../../../src/transfers/importDocument.ts'
import { importFile, maxBytes, requireTarget } from '../../../src/transfers/importFile.ts'
import { attachmentHeader } from '../../files/download.ts'
import type { Call, Handlers } from '../../http/handlers.ts'
import { claimKey } from '../../http/idempotency.ts'
import { machineOf, type PeerDependencies } from '../../peers/peers.ts'
import { createConcurrencyLimit, type ConcurrencyLimit } from '../../limits/concurrencyLimit.ts'
import { receiveFile } from '../../files/multipartUpload.ts'

type Dependencies = PeerDependencies & Pick<App, 'attachmentFiles' | 'config' | 'logs' | 'transfersDir'>

const stallTimeoutMs = 60_000

export const transfersRoutes = (app: Dependencies): Handlers<Contract['transfers']> => {
  const limits = { maxUnderWay: app.config.maxTransfers, maxAtWork: 2 }
  const exports = createConcurrencyLimit('exports', limits)
  const imports = createConcurrencyLimit('imports', limits)
  loadMarkdownReader().catch(() => {
    /* An import that needs the reader fails with the reason. */
  })
  return {
    exportProject: async ({ id }, call) =>
      send(app, exports, { projectId: id, exporterId: call.caller.userId }, (await findProject(app.db, id)).name, call),
    exportOrganization: async ({ organizationId }, call) => {
      const organization = await findAdministered(app.db, call.caller, organizationId)
      return send(
        app,
        exports,
        { organizationId: organization.id, exporterId: call.caller.userId },
        organization.name,
        call,
      )
    },
    import: async (input, call) => {
      await requireTarget(app.db, call.caller, input)
      const leave = imports.enter()
      try {
        const file = await receive(app, input, call)
        return await unlessGone(call, () => imports.runInTurn(() => importUpload(app, input, file, call))).finally(() =>
          removeFile(app.transfersDir, file.storedAs),
        )
      } finally {
        leave()
      }
    },
  }
}

const receive = (
  { config, transfersDir }: Pick<App, 'config' | 'transfersDir'>,
  { format }: ImportOptions,
  { request }: Call,
) =>
  receiveFile(request, {
    maxBytes: maxBytes(format, config),
    save: (bytes, sentName) => saveFile(transfersDir, bytes, sentName),
    discard: file => removeFile(transfersDir, file.storedAs),
  })

async function importUpload(
  app: Dependencies,
  input: ImportOptions,
  { storedAs, sha256, filename }: SavedFile,
  call: Call,
) {
  if (input.dryRun) call.audit?.leaveOut()
  const claim =
    call.idempotencyKey === undefined || input.dryRun
      ? undefined
      : await claimKey(app, contract.transfers.import, call.caller, call.idempotencyKey, { ...input, sha256 })
  if (claim?.replay) call.audit?.leaveOut()
  return (
    claim?.replay ??
    (await importFile(
      { ...transferContext(app), signal: call.signal },
      call.caller,
      { path: join(app.transfersDir, storedAs), filename },
      input,
      (claim ?? call).write,
    ))
  )
}

/** Ignores an error after the client has disconnected. */
async function unlessGone<T>({ signal }: Call, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw signal.aborted ? new Problem('CONFLICT', 'The client closed the connection.', { cause: error }) : error
  }
}

const transferContext = (app: Dependencies) => ({
  db: app.db,
  daemonId: app.membership.id,
  attachmentFiles: app.attachmentFiles,
  transfersDir: app.transfersDir,
  config: app.config,
  clock: app.config.clock,
  machineOf: (projectId: number) => machineOf(app, projectId),
})

/** Streams an export, then deletes it. Disconnects a client that reads nothing for a minute. */
async function send(
  app: Dependencies,
  exports: ConcurrencyLimit,
  of: Parameters<typeof makeExport>[1],
  name: string,
  call: Call,
): Promise<Response> {
  const { request, response, signal } = call
  const leave = exports.enter()
  try {
    const made = await unlessGone(call, () => exports.runInTurn(() => makeExport(transferContext(app), of, signal)))
    if (made.missing.length > 0)
      app.logs.log(
        'error',
        'Files of attachments are missing, have another size, or are on a machine that cannot be reached.',
        {
          source: 'transfers',
          attachmentIds: made.missing.slice(0, 100).map(({ id }) => id),
          machines: machinesOf(made),
          count: made.missing.length,
        },
      )
    const body =
      request.method === 'HEAD' || signal.aborted ? null : Readable.from(made.stream(), { objectMode: false })
    const end = () => {
      body?.destroy()
      void made.close().finally(leave)
    }
    if (body && !signal.aborted) signal.addEventListener('abort', end, { once: true })
    else end()
    response.setTimeout(stallTimeoutMs)
    return new Response(body && (Readable.toWeb(body) as ReadableStream), { headers: headersOf(made, name) })
  } catch (error) {
    leave()
    throw error
  }
}

const machinesOf = ({ missing }: Export): string[] => [...new Set(missing.flatMap(({ machine }) => machine ?? []))]

const headersOf = (made: Export, name: string) => ({
  'content-type': 'application/json; charset=utf-8',
  'content-length': String(made.size),
  'content-disposition': attachmentHeader(cleanFilename(`${name}.board.json`)),
  'content-security-policy': "default-src 'none'; sandbox",
  ...(made.missing.length > 0 && {
    'x-board-missing-files': String(made.missing.length),
    'x-board-missing-machines': machinesOf(made).map(encodeURIComponent).join(','),
  }),
})
