import type { GenericSchema } from 'valibot'
import { contract } from '../../src/contract/index.ts'

/** The commands that print a route's rows with `--json`, by route. */
const commandsByRoute: Record<string, string> = {
  'activity.list': 'cards activity',
  'agentProfiles.list': 'agents profiles list, agents profiles add, agents profiles edit',
  'agents.active': 'agents list',
  'agents.diff': 'cards diff',
  'agents.get': 'agents view',
  'agents.history': 'agents history',
  'agents.merge': 'cards merge',
  'agents.messages': 'agents messages, agents send, assistant send, assistant messages',
  'agents.providers': 'agents providers',
  'agents.sessions': 'agents sessions',
  'agents.slashCommands': 'agents commands',
  'agents.summary': 'cards summary',
  'branches.push': 'cards push',
  'branches.repositories': 'cards repositories',
  'branches.update': 'cards update',
  'assistant.get': 'assistant status',
  'attachments.list': 'cards attach, cards attachments',
  'auth.sessions': 'auth sessions',
  'auth.setSettings': 'settings auth',
  'backups.create': 'backups create, backups upload',
  'backups.list': 'backups list',
  'backups.restore': 'backups restore',
  'boards.list': 'boards list, boards create, boards rename, boards reorder',
  'budgets.list': 'budgets list, budgets set',
  'cards.get': 'cards view, cards add, cards block, presession accept',
  'cards.list': 'cards list',
  'cards.listDeleted': 'cards restore',
  'comments.create': 'cards comment',
  'columns.list': 'columns list, columns create, columns edit, columns reorder',
  'credentials.choose': 'projects credential, cards credential',
  'credentials.get': 'credentials view',
  'credentials.list': 'credentials list, credentials add, credentials edit',
  'credentials.usage': 'credentials usage',
  'forges.get': 'projects forge',
  'filesystem.read': 'fs cat',
  'keys.create': 'keys create, keys rotate',
  'keys.list': 'keys list',
  'logs.getExport': 'settings log-export',
  'logs.list': 'logs',
  'members.update': 'projects member list, projects member add, projects member set',
  'monitors.list': 'monitors list, monitors add',
  'oidc.get': 'settings oidc',
  'organizations.list': 'orgs list, orgs view, orgs create, orgs rename, orgs credential',
  'organizations.listMembers': 'orgs member list, orgs member add, orgs member set',
  'preSessions.get': 'presession list, presession start, presession view',
  'preSessions.messages': 'presession messages, presession send',
  'previews.get': 'cards preview',
  'projects.get': 'projects list, projects view, projects create, projects edit, projects reorder, auth accept',
  'projects.stats': 'projects stats',
  'pullRequests.get': 'cards pr view, cards pr create, cards pr edit, cards pr merge, cards pr continue',
  'pullRequests.list': 'cards pr list',
  'reviews.list': 'cards review',
  'schedules.list': 'schedules list, schedules view, schedules add, schedules edit',
  'schedules.run': 'schedules run',
  'scripts.cancel': 'scripts cancel',
  'scripts.list': 'scripts list, scripts add, scripts edit, scripts reorder',
  'search.find': 'search',
  'templates.list': 'templates list, templates create, templates edit',
  'transfers.import': 'import',
  'usage.list': 'usage',
  'users.search': 'users search',
  'users.update': 'users list, users edit',
  'webhooks.create': 'webhooks create, webhooks rotate',
  'webhooks.deliveries': 'webhooks deliveries, webhooks test',
  'webhooks.list': 'webhooks list, webhooks edit',
}
/** Commands whose `--json` rows have additional fields, or other fields than a route. */
const ownFieldsByCommand: Record<string, { route?: string; fields: string }> = {
  'auth status': {
    fields:
      'url urlFrom profile profileFrom tokenKind tokenFrom project projectFrom signedIn email role authEnabled hasUsers',
  },
  browse: { fields: 'url' },
  'cards list': { route: 'cards.list', fields: 'columnType' },
  'cards ready': { route: 'cards.list', fields: 'columnType' },
  'cards pipeline': { fields: 'columnId columnName prompt approval' },
  'cards wait': { fields: 'id status statusReason title error' },
  'cards worktree': { route: 'cards.get', fields: 'managed' },
  'config get': { fields: 'key value meaning' },
  'config list': { fields: 'key value meaning' },
  'credentials verify': { route: 'credentials.verify', fields: 'id' },
  'credentials view': { route: 'credentials.get', fields: 'authorization' },
  'fs ls': { fields: 'name path type size modifiedAt isGitRepository' },
  'projects accept': { fields: 'id name path' },
  'projects issues': { fields: 'id number url title state cardId problem' },
  'projects delete': { fields: 'id name cards' },
  'projects sandbox': { fields: 'mode network hosts caches monitors memoryMiB processes fileMiB minutes' },
  'projects worktree': { fields: 'setup beforeRun afterRun cleanup preview subfolder ports minutes copiedFiles' },
  'projects use': { fields: 'id name profile' },
  'scripts run': { route: 'scripts.run', fields: 'name' },
  'scripts status': { route: 'scripts.status', fields: 'name' },
  'settings get': { fields: 'user context-relay agents agent-slots notifications log-export shortcuts' },
  'settings set': { route: 'settings.getUser', fields: '' },
  stats: { fields: 'stats days' },
  status: { fields: 'server daemons user project agents total byStatus byColumn monitorQuestions' },
  whoami: { route: 'auth.me', fields: 'tokenFrom' },
  'users create': { route: 'users.update', fields: 'generatedPassword' },
  'users delete': { fields: 'id projects' },
  'users reset-password': { fields: 'id email generatedPassword' },
  ...sameFields('id result error', [
    'agents retry, agents relay, agents relaunch, agents approve, agents answer, webhooks redeliver, monitors delete',
    'cards read, cards edit, cards assign, cards move, cards run, cards cancel, cards approve, cards detach',
    'cards auto, cards complete, cards archive, cards unarchive, cards delete',
  ]),
  ...sameFields('path size', ['cards download, projects export, export, backups download']),
}

/** Returns the names of the `--json` fields of a command (`cards list`). Empty if the command prints no record. */
export function fieldNames(command: string): string[] {
  const own = Object.hasOwn(ownFieldsByCommand, command) ? ownFieldsByCommand[command] : undefined
  const route = own
    ? own.route
    : Object.keys(commandsByRoute).find(name => commandsByRoute[name]!.split(', ').includes(command))
  return [...(route === undefined ? [] : entriesOf(outputOf(route))), ...(own?.fields.split(' ').filter(Boolean) ?? [])]
}

function sameFields(fields: string, commands: readonly string[]): Record<string, { fields: string }> {
  return Object.fromEntries(commands.flatMap(line => line.split(', ')).map(command => [command, { fields }]))
}

/** The parts of a Valibot schema that lead to the fields of a row. */
interface Part extends GenericSchema {
  entries?: Record<string, Part>
  item?: Part
  wrapped?: Part
}

function outputOf(name: string): Part | undefined {
  const [resource = '', route = ''] = name.split('.')
  return (contract as unknown as Record<string, Record<string, { output?: Part }>>)[resource]?.[route]?.output
}

/** The fields of a record, of the rows of a list, or of those of a page. */
function entriesOf(schema: Part | undefined): string[] {
  const row = schema?.item ?? schema?.wrapped ?? schema?.entries?.items?.item
  return row ? entriesOf(row) : Object.keys(schema?.entries ?? {})
}
