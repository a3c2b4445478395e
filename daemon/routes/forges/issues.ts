import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as projects from '../../../src/domain/projects/projects.ts'
import { listCardIssues, readSyncState } from '../../../src/store/cards/cardIssues.ts'
import { forgeOf } from '../../../src/store/projects/projects.ts'
import { cardIssue, syncState } from '../../../src/views/issues.ts'
import type { Handlers } from '../../http/handlers.ts'

export const issuesRoutes = (app: Pick<App, 'db' | 'issues'>): Handlers<Contract['issues']> => ({
  list: async ({ projectId, limit, cursor }) => {
    const settings = forgeOf(await projects.find(app.db, projectId))
    const sync = syncState(settings, await readSyncState(app.db, projectId))
    const rows = await listCardIssues(app.db, projectId, { after: cursor, limit: limit + 1 })
    const items = rows.slice(0, limit).map(cardIssue)
    return { sync, items, nextCursor: rows.length > limit ? items.at(-1)!.id : null }
  },
  sync: ({ projectId }) => app.issues.syncNow(projectId),
})
