import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as activities from '../../../src/domain/cards/activity.ts'
import * as cards from '../../../src/domain/cards/cards.ts'
import { activity } from '../../../src/views/activity.ts'
import { page } from '../../../src/views/page.ts'
import type { Handlers } from '../../http/handlers.ts'

export const activityRoutes = (app: Pick<App, 'db'>): Handlers<Contract['activity']> => ({
  list: async ({ limit, cursor, ...ref }) => {
    const { id } = await cards.find(app.db, ref)
    return page(await activities.list(app.db, id, { limit, cursor }), activity)
  },
})
