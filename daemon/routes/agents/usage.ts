import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { usage } from '../../../src/domain/agents/budgets.ts'
import type { Handlers } from '../../http/handlers.ts'

export const usageRoutes = ({ db }: Pick<App, 'db'>): Handlers<Contract['usage']> => ({
  list: (asked, { caller }) => usage(db, caller, asked),
})
