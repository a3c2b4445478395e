import accounts from './accounts.ts'
import agents from './agents.ts'
import automation from './automation.ts'
import boards from './boards.ts'
import cardRelations from './cardRelations.ts'
import cards from './cards.ts'
import forges from './forges.ts'
import projects from './projects.ts'
import search from './search.ts'
import server from './server.ts'
import usage from './usage.ts'

/**
 * The schema of version 0.2.0, the first release. It never changes: add a migration instead (migrations.ts). Booleans are 0 and 1,
 * times ISO 8601 text, lists and objects JSON text. User 0 is the local operator before the first user exists. The fields of each
 * record are described in its file in src/store.
 */
export const schema = [
  accounts,
  projects,
  boards,
  cards,
  cardRelations,
  agents,
  usage,
  search,
  automation,
  forges,
  server,
].join('')
