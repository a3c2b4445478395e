import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { listAuditRows } from '../../../src/store/server/audit.ts'
import { auditPage } from '../../../src/views/audit.ts'
import type { Handlers } from '../../http/handlers.ts'

export const auditRoutes = ({ db }: Pick<App, 'db'>): Handlers<Contract['audit']> => ({
  list: async ({ cursor, ...filter }) =>
    auditPage(await listAuditRows(db, { ...filter, before: cursor }), filter.limit),
})
