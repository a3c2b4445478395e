import { agents } from './agents.ts'
import { assistant } from './assistant.ts'
import { attachments } from './attachments.ts'
import { auth } from './auth.ts'
import { boards } from './boards.ts'
import { cards } from './cards.ts'
import { columns } from './columns.ts'
import { credentials } from './credentials.ts'
import { external } from './external.ts'
import { keys } from './keys.ts'
import { members } from './members.ts'
import { oidc } from './oidc.ts'
import { organizations } from './organizations.ts'
import { panelStates } from './panelStates.ts'
import { preSessions } from './preSessions.ts'
import { projects } from './projects.ts'
import { server } from './server.ts'
import { settings } from './settings.ts'
import { templates } from './templates.ts'
import { users } from './users.ts'

/** The API as data: every route of the server, by resource. */
export const contract = { server, auth, users, keys, organizations, members, oidc, credentials, projects, boards, columns, templates, cards, attachments, panelStates, settings, agents, preSessions, assistant, external }
export type Contract = typeof contract
