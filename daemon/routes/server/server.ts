import type { App } from '../../../src/app.ts'
import { version } from '../../../src/config/version.ts'
import { Problem } from '../../../src/contract/errors.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { writeServerSetting } from '../../../src/store/server/serverSettings.ts'
import { listDaemons } from '../../../src/store/server/daemons.ts'
import { daemon } from '../../../src/views/daemons.ts'
import type { Handlers } from '../../http/handlers.ts'
import { namesOwnHost } from '../../http/hostOriginGuard.ts'
import { cachedResponse } from '../../files/cachedResponse.ts'
import { createPageFiles } from '../../files/pageFiles.ts'
import type { Manual } from '../../documents/manual.ts'

const minMsBetweenWrites = 1000

const document = cachedResponse(async () =>
  Response.json((await import('../../documents/openapi.ts')).openApiDocument()),
)
const documentPage = cachedResponse(async () => {
  const [{ docsPage }, { openApiDocument }] = await Promise.all([
    import('../../documents/docsPage.ts'),
    import('../../documents/openapi.ts'),
  ])
  return docsPage(openApiDocument())
})

export const serverRoutes = (
  app: Pick<App, 'config' | 'db' | 'membership' | 'metrics'>,
): Handlers<Contract['server']> => {
  const provesWrite = writeProof(app)
  const files = createPageFiles(app.config.webRoot)
  const manual = manualReader(app.config.docsRoot)
  return {
    health: async (_, { request }) => ({ status: 'ok', ...(namesOwnHost(app, request) && { version }) }),
    ready: async () => {
      await provesWrite()
      return { status: 'ok' }
    },
    daemons: async () => (await listDaemons(app.db)).map(row => daemon(row, app.membership.id)),
    metrics: async () => {
      const { contentType, text } = await app.metrics.text()
      return new Response(text, { headers: { 'content-type': contentType } })
    },
    home: (_, { request }) => files.page(request),
    asset: ({ filename }, { request }) => files.asset(request, filename),
    openapi: (_, { request }) => document(request),
    docs: (_, { request }) => documentPage(request),
    documentation: async ({ q }) => (await manual()).index(q),
    documentationPage: async ({ filename }) => (await manual()).page(filename),
    socket: async () => {
      throw new Problem('NOT_FOUND', 'This path supports only WebSocket upgrades.')
    },
  }
}

/** Creates a function that reads the documentation when it is called first. @throws Problem NOT_FOUND if the server has none */
function manualReader(folder: string | undefined): () => Promise<Manual> {
  let manual: Promise<Manual> | undefined
  const read = async () => {
    if (folder === undefined) throw new Problem('NOT_FOUND')
    return (await import('../../documents/manual.ts')).readManual(folder)
  }
  return () =>
    (manual ??= read().catch((error: unknown) => {
      manual = undefined
      throw error
    }))
}

/** Returns a function that checks the database by writing to it. Calls within a second share a result. */
function writeProof({ db }: Pick<App, 'db'>): () => Promise<void> {
  let last: Promise<void> | undefined
  let writtenAt = -Infinity
  return () => {
    if (last && performance.now() - writtenAt < minMsBetweenWrites) return last
    writtenAt = performance.now()
    return (last = db.transaction(tx => writeServerSetting(tx, 'ready', JSON.stringify(tx.now))))
  }
}
