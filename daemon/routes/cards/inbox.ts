import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as inbox from '../../../src/domain/cards/inbox.ts'
import type { Handlers } from '../../http/handlers.ts'

export const inboxRoutes = ({ db, config }: Pick<App, 'db' | 'config'>): Handlers<Contract['inbox']> => ({
  list: (asked, { caller }) => inbox.list(db, caller, config.clock().toISOString(), asked),
  mark: ({ all: _, ...change }, { caller, write }) =>
    write(
      tx => inbox.mark(tx, caller, change),
      marked => marked,
    ),
})
