import type { Command } from 'commander'
import type { Seed } from '../contract/seed.ts'

/** All objects that command lines can name: those of a server, existing files, and a folder for downloads. */
export interface Named extends Seed {
  file: string
  /** A file with the token of an invitation that does not exist. */
  invitation: string
  markdown: string
  folder: string
}

/** The value of an argument, by its name without the plural's s. */
const placeholders: Record<string, (named: Named) => string> = {
  'agent-profile': ({ profileId }) => profileId,
  attachment: ({ attachmentId }) => attachmentId,
  backup: ({ backup }) => backup,
  board: ({ otherBoardId }) => otherBoardId,
  budget: ({ budgetId }) => budgetId,
  card: ({ cardId }) => cardId,
  column: ({ emptyColumnId }) => emptyColumnId,
  credential: ({ credentialId }) => credentialId,
  deliverie: ({ deliveryId }) => deliveryId,
  email: ({ projectId }) => `member-${projectId}@example.net`,
  file: ({ file }) => file,
  gate: ({ gateId }) => gateId,
  key: ({ keyId }) => keyId,
  member: ({ projectId }) => `member-${projectId}@example.net`,
  answer: () => 'Hello',
  message: () => 'Hello',
  monitor: ({ monitorId }) => monitorId,
  name: ({ projectId }) => `New ${projectId}`,
  organization: ({ organizationId }) => organizationId,
  path: ({ path }) => path,
  profile: () => 'other',
  project: ({ projectId }) => projectId,
  schedule: ({ scheduleId }) => scheduleId,
  script: ({ scriptId }) => scriptId,
  session: ({ sessionId }) => sessionId,
  template: ({ templateId }) => templateId,
  text: () => 'Seeded',
  url: () => 'http://127.0.0.1:1/new',
  user: ({ memberId }) => memberId,
  value: () => 'x',
  webhook: ({ webhookId }) => webhookId,
  words: () => 'Seeded',
}

const account = ['--email', 'ada@example.org', '--password-stdin']

/** The complete arguments of a command for which one word per argument is not enough, or would affect the other commands. */
const whole: Record<string, (named: Named) => string[]> = {
  api: () => ['/api/auth/me'],
  'agents profiles add': ({ projectId }) => [`new-${projectId}`, '--agent', 'claude'],
  'agents profiles edit': ({ profileId }) => [profileId, '--model', 'small'],
  'auth accept': ({ invitation }) => ['--invitation-file', invitation],
  'auth password': () => ['--password-stdin'],
  'auth login': () => account,
  'auth register': () => account,
  'auth setup': () => account,
  'backups delete': ({ backup }) => [backup, '--yes'],
  'backups download': ({ backup, folder }) => [backup, '-o', `${folder}/${backup}`],
  'backups restore': ({ backup }) => [backup, '--dry-run'],
  browse: () => ['--print'],
  'budgets set': () => ['project', '--limit', '5', '--unit', 'hours'],
  'cards assign': ({ cardId, memberId }) => [cardId, '--remove', memberId],
  'cards auto': ({ cardId }) => [cardId, 'on'],
  'cards comment': ({ cardId }) => [cardId],
  'cards add': () => ['Added'],
  'cards edit': ({ cardId }) => [cardId, '--title', 'Edited'],
  'cards move': ({ activeCardId }) => [activeCardId, '--top'],
  'cards wait': ({ archivedCardId }) => [archivedCardId, '--for', 'idle'],
  'cards credential': ({ cardId }) => [cardId, 'none'],
  'cards delete': ({ cardId }) => [cardId, '--force', '--yes'],
  'cards download': ({ attachmentId, folder }) => [attachmentId, '-o', `${folder}/attachment-${attachmentId}`],
  'cards pr edit': ({ cardId }) => [cardId, '--title', 'Edited'],
  'cards preview': ({ cardId }) => [cardId, '--status'],
  'cards restore': () => [],
  'cards unarchive': ({ archivedCardId }) => [archivedCardId],
  'cards worktree': ({ cardId, worktree }) => [cardId, '--attach', worktree],
  'columns clear': ({ doneColumnId }) => [doneColumnId, '--yes'],
  'columns create': () => ['New', '--type', 'backlog'],
  'columns edit': ({ emptyColumnId }) => [emptyColumnId, '--name', 'Edited'],
  'columns delete': ({ emptyColumnId }) => [emptyColumnId, '--yes'],
  'credentials add': ({ projectId }) => [`New ${projectId}`, '--provider', 'openai', '--api-key-stdin'],
  'credentials edit': ({ credentialId }) => [credentialId, '--name', 'Edited'],
  export: ({ organizationId, folder }) => ['--org', organizationId, '-o', `${folder}/organization-${organizationId}`],
  import: ({ markdown }) => ['markdown', markdown],
  'keys create': ({ projectId }) => [`New ${projectId}`, '--permission', 'cards.read'],
  'fs cat': ({ path }) => [`${path}/README`],
  'monitors add': ({ activeCardId }) => [activeCardId, 'true', '--every', '1h', '--allow-unsandboxed'],
  'monitors delete': ({ activeCardId, monitorId }) => [activeCardId, monitorId, '--yes'],
  'orgs credential': ({ organizationId }) => [organizationId, 'none'],
  'orgs member add': ({ organizationId, strangerEmail }) => [organizationId, strangerEmail],
  'orgs member set': ({ organizationId, projectId }) => [organizationId, `member-${projectId}@example.net`, 'admin'],
  'projects create': ({ projectId, path }) => [`New ${projectId}`, '--path', path, '--yes'],
  'projects credential': () => ['none'],
  'projects delete': ({ projectId }) => [projectId, '--dry-run'],
  'projects edit': ({ projectId }) => [projectId, '--name', `Edited ${projectId}`],
  'projects export': ({ projectId, folder }) => [projectId, '-o', `${folder}/project-${projectId}`],
  'projects member add': ({ strangerEmail }) => [strangerEmail],
  'projects member set': ({ projectId }) => [`member-${projectId}@example.net`, 'viewer'],
  'projects use': ({ projectId }) => [projectId],
  'schedules add': ({ projectId }) => [`New ${projectId}`, '--every', '1d'],
  'schedules edit': ({ scheduleId }) => [scheduleId, '--disable'],
  'gates add': ({ projectId }) => [`New ${projectId}`, 'true', '--merge'],
  'inbox read': () => ['--all'],
  'inbox done': () => ['--all'],
  'inbox reopen': () => ['--all'],
  'inbox snooze': () => ['--all', '--until', 'tomorrow'],
  'gates edit': ({ gateId }) => [gateId, '--name', 'Edited'],
  'scripts add': ({ projectId }) => [`New ${projectId}`, 'true'],
  'scripts edit': ({ scriptId }) => [scriptId, '--name', 'Edited'],
  'settings set': () => ['user', '-f', 'theme=dark'],
  'templates create': ({ projectId }) => [`New ${projectId}`, '--column', 'A:backlog'],
  'templates edit': ({ templateId }) => [templateId, '--name', 'Edited'],
  'users create': ({ projectId }) => [`new-${projectId}@example.net`],
  'users delete': ({ memberId }) => [memberId, '--dry-run'],
  'users edit': ({ memberId }) => [memberId, '--name', 'Edited'],
  'users reset-password': ({ memberId }) => [memberId, '--yes'],
  'webhooks create': () => ['http://127.0.0.1:1/new', '--event', 'card.moved'],
  'webhooks edit': ({ webhookId }) => [webhookId, '--description', 'Edited'],
}

/** The name of a command below `board`, such as `cards view`. */
export const nameOf = (command: Command): string =>
  command.parent?.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()

/** A complete command line, without `board`, that names only existing objects. It never prompts. */
export function wordsOf(command: Command, named: Named): string[] {
  const name = nameOf(command)
  return [
    ...name.split(' '),
    ...(whole[name]?.(named) ?? [
      ...required(command, named),
      ...(command.options.some(({ long }) => long === '--yes') ? ['--yes'] : []),
    ]),
  ]
}

const required = (command: Command, named: Named): string[] =>
  command.registeredArguments
    .filter(each => each.required || ['answer', 'message'].includes(each.name()))
    .map(
      each =>
        each.argChoices?.[0] ??
        placeholders[each.name().replace(/s$/, '')]?.(named) ??
        placeholders[each.name()]?.(named) ??
        fail(`There is nothing for <${each.name()}> of board ${nameOf(command)}.`),
    )

function fail(message: string): never {
  throw new Error(message)
}
