import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { deliverEntries } from '../../../src/logs/delivery.ts'
import { toEntry } from '../../../src/logs/entry.ts'
import { changeLogExport, maskSettings, readLogExport, targetOf } from '../../../src/logs/exportSettings.ts'
import type { Handlers } from '../../http/handlers.ts'

export const logsRoutes = (app: Pick<App, 'config' | 'db' | 'logs' | 'seal'>): Handlers<Contract['logs']> => ({
  list: async input => app.logs.list(input).map(entry => ({ ...entry, id: String(entry.id) })),
  getExport: async () => maskSettings(await readLogExport(app.db)),
  setExport: (change, call) =>
    call.write(async tx => {
      const settings = await changeLogExport(app.seal, tx, change)
      tx.afterCommit(() => app.logs.exporter.use(settings.enabled ? targetOf(app.seal, settings) : undefined))
      return settings
    }, maskSettings),
  testExport: async (_, call) => {
    const target = targetOf(app.seal, await readLogExport(app.db))
    if (!target) return { ok: false, delivered: false, status: null, error: 'No endpoint is set.' }
    const delivery = await deliverEntries(
      target,
      [toEntry('info', 'This entry tests the log export.', { source: 'log-export' }, app.config.clock().toISOString())],
      call.signal,
    )
    const ok = delivery.kind === 'taken' && delivery.rejected === 0
    return {
      ok,
      delivered: ok,
      status: delivery.status,
      error: delivery.why,
    }
  },
})
