import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { projectRole } from '../../../src/domain/accounts/access.ts'
import { accept, describe } from '../../../src/domain/projects/invitations.ts'
import { findVisible } from '../../../src/domain/projects/projects.ts'
import { ownerFor } from '../../../src/store/accounts/users.ts'
import { project as projectView } from '../../../src/views/projects.ts'
import type { Handlers } from '../../http/handlers.ts'

export const invitationsRoutes = ({ config, db }: Pick<App, 'config' | 'db'>): Handlers<Contract['invitations']> => ({
  lookup: async ({ token }) => {
    const { projectName, invitedBy, role, email, expiresAt } = await describe(db, token, config.clock())
    return { projectName, invitedBy, role, email, expiresAt }
  },
  accept: ({ token }, { caller, write }) =>
    write(
      async tx => {
        const member = { ...caller, userId: await ownerFor(tx, caller.userId) }
        const projectId = await accept(tx, member.userId, token)
        return { row: await findVisible(tx, member, projectId), role: (await projectRole(tx, member, projectId))! }
      },
      ({ row, role }) => projectView(row, role),
    ),
})
