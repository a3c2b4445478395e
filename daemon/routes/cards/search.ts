import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { find } from '../../../src/domain/cards/search.ts'
import type { Handlers } from '../../http/handlers.ts'

export const searchRoutes = (app: Pick<App, 'db'>): Handlers<Contract['search']> => ({
  find: (query, { caller }) => find(app.db, caller, query),
})
