import { readdirSync } from 'node:fs'
import { contract, type Contract } from '../../../src/contract/index.ts'
import { paramsOf, type Route, type Sent } from '../../../src/contract/route.ts'
import type { RequestOptions } from '../servers/testBoard.ts'
import { fileBody, type Seed } from './seed.ts'

export interface Row {
  name: string
  route: Route
}

/** Every row of the contract, in its order: `cards.move`. */
export const rows: Row[] = Object.entries(contract).flatMap(([resource, routes]) =>
  Object.entries(routes).map(([name, route]): Row => ({ name: `${resource}.${name}`, route })),
)

type Examples = {
  [Resource in keyof Contract]: {
    [Name in keyof Contract[Resource]]: Contract[Resource][Name] extends Route ? Sent<Contract[Resource][Name]> : never
  }
}

/** A file of the built page, whose name changes with what is in it. */
const asset = readdirSync('dist/web/assets')[0]!

/** An input that each row answers with success on fresh seeds. A new row without one is a type error here. */
export const examples = (seed: Seed): Examples => {
  const {
    projectId,
    boardId,
    otherBoardId,
    columnId,
    activeColumnId,
    doneColumnId,
    emptyColumnId,
    cardId,
    activeCardId,
    archivedCardId,
    deletedCardId,
    attachmentId,
    reviewId,
    keyId,
    templateId,
    organizationId,
    credentialId,
    profileId,
    grantId,
    sessionId,
    monitorId,
    webhookId,
    deliveryId,
    scriptId,
    memberId,
    strangerEmail,
    invitedEmail,
    invitationToken,
    signInId,
  } = seed
  const card = { projectId, cardId }
  return {
    server: {
      health: {},
      ready: {},
      daemons: {},
      metrics: {},
      home: {},
      asset: { filename: asset },
      openapi: {},
      docs: {},
      socket: {},
    },
    auth: {
      status: {},
      setup: { email: 'ada@example.org', password: 'correct horse', displayName: 'Ada' },
      login: { email: 'ada@example.org', password: 'correct horse' },
      register: { email: 'bob@example.org', password: 'battery staple' },
      logout: {},
      createTicket: {},
      redeemTicket: { ticket: 'svc_bt_none' },
      setPassword: { currentPassword: 'not the password', newPassword: 'battery staple' },
      sessions: {},
      endSession: { id: signInId },
      getSettings: {},
      setSettings: { enabled: true, registrationEnabled: true },
      me: {},
    },
    users: {
      search: { q: 'a' },
      list: { search: 'a', offset: 0, limit: 10 },
      create: { email: 'made@example.org', name: 'Made', role: 'admin' },
      update: { id: memberId, name: 'Changed', role: 'admin' },
      delete: { id: memberId },
      resetPassword: { id: memberId },
      checkDelete: { id: memberId },
    },
    keys: {
      list: {},
      create: { name: 'Cron', scope: 'project', projectId, permissions: ['cards.read'], expiresInDays: 1 },
      get: { id: keyId },
      revoke: { id: keyId },
      rotate: { id: keyId, graceSecs: 60 },
    },
    organizations: {
      create: { name: 'Club' },
      list: {},
      get: { id: organizationId },
      update: { id: organizationId, name: 'Team' },
      delete: { id: organizationId },
      listMembers: { id: organizationId },
      addMember: { id: organizationId, email: strangerEmail, role: 'admin' },
      updateMember: { id: organizationId, userId: memberId, role: 'admin' },
      removeMember: { id: organizationId, userId: memberId },
      setCredential: { orgId: organizationId, credentialId },
    },
    members: {
      list: { id: projectId },
      add: { id: projectId, email: strangerEmail, role: 'viewer' },
      update: { projectId, userId: memberId, role: 'admin' },
      remove: { projectId, userId: memberId },
      renewInvitation: { projectId, email: invitedEmail },
      removeInvitation: { projectId, email: invitedEmail },
    },
    invitations: { accept: { token: invitationToken } },
    oidc: {
      get: {},
      set: { issuerUrl: 'http://127.0.0.1:9', clientId: 'board', clientSecret: 'a client secret' },
      delete: {},
      test: {},
      login: { loopback: 'http://127.0.0.1:9/x', challenge: 'c'.repeat(43) },
      callback: { code: 'c', state: 's' },
      exchange: { code: 'c', verifier: 'v'.repeat(43) },
    },
    projects: {
      create: { name: 'New', path: seed.path, organizationId },
      list: { organizationId },
      reorder: { ids: [projectId] },
      get: { id: projectId },
      update: {
        id: projectId,
        name: 'Renamed',
        path: seed.path,
        agent: 'fixture',
        profile: null,
        model: 'big',
        mode: 'work',
        effort: 'high',
        worktree: { setup: 'npm ci', ports: 2, copiedFiles: ['.env'] },
        approvalPolicy: { default: 'ask', allow: ['git status'], refuse: ['git push'] },
        onSilence: 'end',
        usageLimits: { onLimit: 'next', next: [{ agent: 'fixture', profile: null, credentialId: null }] },
      },
      delete: { id: projectId },
      opened: { id: projectId },
      markAllRead: { id: projectId },
      stats: { id: projectId },
      history: { id: projectId, since: '2026-01-01' },
      usage: { id: projectId, since: '2026-01-01' },
      getWorktree: { id: projectId },
      agreeToBoardFile: { id: projectId, version: '2a49bd8656359dae90b92da2399b3c5bf4ae2b559848bba221b8bf6c2be64c4b' },
      withdrawAgreement: { id: projectId },
      files: { projectId },
    },
    boards: {
      list: { projectId },
      create: { projectId, name: 'Third', templateId },
      reorder: { projectId, ids: [otherBoardId, boardId] },
      update: { projectId, boardId, name: 'First' },
      delete: { projectId, boardId },
    },
    columns: {
      list: { projectId, boardId },
      create: { projectId, boardId, name: 'Review', columnType: 'active', prompt: 'Review it', agent: 'fixture' },
      reorder: { projectId, ids: [emptyColumnId, doneColumnId, columnId, activeColumnId] },
      update: { projectId, columnId, name: 'Ideas', prompt: '', agent: 'fixture' },
      delete: { projectId, columnId: emptyColumnId },
      clear: { projectId, columnId },
    },
    templates: {
      list: {},
      create: { name: 'Mine', columns: [{ name: 'A', columnType: 'backlog', prompt: 'p' }] },
      update: { id: templateId, name: 'Ours' },
      delete: { id: templateId },
    },
    cards: {
      list: {
        projectId,
        boardId,
        columnId,
        status: 'idle',
        label: 'x',
        search: 'y',
        archived: 'false',
        ready: 'false',
        blocked: 'false',
        kind: 'kanban',
        limit: 10,
        cursor: 0,
      },
      get: card,
      update: {
        ...card,
        title: 'Changed',
        prompt: 'p',
        labels: ['a', 'b'],
        groupId: 'g',
        useWorktree: false,
        agent: 'fixture',
        blockedBy: [],
        parentId: null,
        discoveredFromId: null,
      },
      delete: { ...card, force: 'true' },
      restore: { projectId, cardId: deletedCardId },
      view: card,
      move: { ...card, columnId: activeColumnId, position: 0 },
      archive: card,
      unarchive: { projectId, cardId: archivedCardId },
      complete: card,
      activate: card,
      setAutoMode: { ...card, enabled: true },
      getPipeline: card,
      setPipeline: {
        ...card,
        steps: [{ columnId: activeColumnId, columnName: 'In Progress', prompt: 'Do it well', approval: 'manual' }],
      },
      attachWorktree: { ...card, path: seed.worktree },
      detachWorktree: card,
      create: {
        projectId,
        title: 'Made',
        prompt: 'p',
        columnId,
        labels: ['a'],
        groupId: 'g',
        useWorktree: false,
        deferred: true,
        autoMode: false,
        agent: 'fixture',
        kind: 'kanban',
      },
      getFlat: { id: cardId },
      status: { id: cardId },
    },
    attachments: {
      listProject: { projectId, limit: 10, cursor: 999_999 },
      list: card,
      create: card,
      download: { attachmentId },
      delete: { attachmentId },
    },
    reviews: {
      getDraft: card,
      putDraft: {
        ...card,
        body: 'So far',
        comments: [{ path: 'README', side: 'new', startLine: 1, line: 2, body: 'Why?' }],
      },
      changedFile: { ...card, path: 'README', side: 'old', since: reviewId },
      list: card,
      create: { ...card, verdict: 'comment', body: 'Well done', comments: [] },
    },
    panelStates: { get: { projectId }, set: { projectId, [cardId]: { width: 300 } }, delete: card },
    settings: {
      getUser: {},
      setUser: {
        theme: 'dark',
        highContrast: true,
        sidebarExpanded: false,
        density: 'compact',
        agentReasoning: false,
        statusLine: false,
        hiddenToolTypes: ['read'],
      },
      getShortcuts: {},
      setShortcuts: { help: '?,f1' },
      getAgents: {},
      setAgents: { agent: 'fixture', profile: null, model: 'big', mode: 'work', effort: 'high' },
      getContextRelay: {},
      setContextRelay: { enabled: true, thresholdPercent: 70, maxSummaryTokens: 1000 },
    },
    credentials: {
      list: {},
      create: { name: 'Mine', provider: 'openai', apiKey: 'sk-example-0123456789', baseUrl: 'https://example.org' },
      get: { id: credentialId },
      update: { id: credentialId, name: 'Ours', apiKey: 'sk-other-0123456789', baseUrl: 'https://example.org' },
      delete: { id: credentialId },
      verify: { id: credentialId },
      usage: { id: credentialId },
      initOauth: { provider: 'custom', name: 'Mine', baseUrl: 'http://127.0.0.1:9', clientId: 'board' },
      oauthStatus: { id: grantId },
      choose: { projectId, credentialId: null },
      chooseForCard: { ...card, credentialId: null },
    },
    agents: {
      providers: {},
      sandbox: {},
      check: { agent: 'claude', profile: null, credentialId: null, greet: false },
      get: card,
      cancel: card,
      sessions: card,
      history: card,
      messages: { ...card, since: '2026-01-01T00:00:00.000Z', before: 999_999, limit: 10 },
      send: { ...card, content: 'Go on' },
      retry: card,
      relaunch: card,
      relay: card,
      approvePlan: { ...card, approved: true, feedback: 'Mind the tests' },
      summary: card,
      active: { projectId },
      slashCommands: { projectId },
      token: { ...card, ttlSecs: 60 },
      approveAuto: card,
      diff: { ...card, since: reviewId },
      merge: { ...card, into: 'main', squash: true },
    },
    agentProfiles: {
      list: {},
      create: {
        name: 'fast',
        agent: 'claude',
        command: ['fixture-agent'],
        args: ['--fast'],
        environment: { GATEWAY_KEY: 'sk-gateway-0123456789' },
        model: 'small',
        mode: 'work',
        effort: 'low',
        credentialId,
      },
      update: {
        id: profileId,
        command: null,
        args: [],
        environment: { GATEWAY_KEY: null },
        model: null,
        mode: null,
        effort: null,
        credentialId: null,
      },
      delete: { id: profileId },
    },
    previews: { get: { projectId, cardId }, start: { projectId, cardId }, stop: { projectId, cardId } },
    preSessions: {
      list: { projectId, limit: 10, cursor: 999_999 },
      start: { projectId, cardId },
      get: { projectId, sessionId },
      send: { projectId, sessionId, content: 'In Rust' },
      accept: { projectId, sessionId },
      cancel: { projectId, sessionId },
      messages: { projectId, sessionId },
    },
    assistant: { get: { projectId }, send: { projectId, content: 'What is left to do?' } },
    monitors: {
      create: {
        projectId,
        cardId: activeCardId,
        command: 'sleep 60',
        intervalSecs: 60,
        description: 'Sleeps',
        cwd: seed.path,
        allowUnsandboxed: true,
      },
      list: { projectId, cardId: activeCardId },
      delete: { projectId, cardId: activeCardId, monitorId },
      listProject: { projectId },
      deleteProject: { projectId, monitorId },
    },
    transfers: {
      exportProject: { id: projectId },
      exportOrganization: { organizationId },
      import: { format: 'board', projectId, dryRun: 'false' },
    },
    backups: {
      create: { withKey: false },
      list: {},
      upload: {},
      download: { filename: seed.backup },
      delete: { filename: seed.backup },
      restore: { filename: seed.backup },
    },
    audit: { list: { limit: 5 } },
    logs: {
      list: {
        level: 'info',
        search: 'server',
        since: '2026-01-01T00:00:00.000Z',
        after: 0,
        before: 999_999_999,
        limit: 10,
      },
      getExport: {},
      testExport: {},
      setExport: {
        enabled: false,
        endpoint: 'http://127.0.0.1:9',
        protocol: 'otlp-http',
        headers: { authorization: 'Bearer seeded' },
        minLevel: 'warn',
        compression: 'gzip',
      },
    },
    webhooks: {
      list: { projectId },
      create: {
        projectId,
        url: 'http://127.0.0.1:1/made',
        events: ['card.moved', 'card.created'],
        enabled: false,
        description: 'Made',
      },
      update: {
        projectId,
        webhookId,
        url: 'http://127.0.0.1:1/changed',
        events: ['card.moved'],
        enabled: true,
        description: null,
      },
      delete: { projectId, webhookId },
      rotate: { projectId, webhookId },
      test: { projectId, webhookId },
      deliveries: { projectId, webhookId, status: 'pending', limit: 10, cursor: 999_999 },
      redeliver: { projectId, webhookId, deliveryId },
    },
    search: { find: { q: 'card', limit: 5 } },
    filesystem: { browse: { path: seed.path }, read: { path: `${seed.path}/README`, offset: 0 } },
    mcp: { call: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} } },
    scripts: {
      list: { projectId },
      create: { projectId, name: 'Test', command: 'npm test' },
      reorder: { projectId, ids: [scriptId] },
      status: { projectId, scriptId, since: 10 },
      update: { projectId, scriptId, name: 'Tests', command: 'npm run test' },
      delete: { projectId, scriptId },
      run: { projectId, scriptId },
      cancel: { projectId, scriptId },
    },
    notifications: {
      get: {},
      set: {
        agentCompleted: true,
        agentFailed: true,
        agentWaiting: false,
        monitorFailing: true,
        webhookUrl: 'http://127.0.0.1:1/mine',
        desktop: false,
        sound: true,
      },
    },
    external: {
      boards: { projectId },
      list: { projectId, columnId: Number(columnId), status: 'idle', label: 'x', limit: 10, cursor: 0 },
      create: { projectId, title: 'Made outside', prompt: 'p', columnId: Number(columnId), useWorktree: false },
      get: card,
      stats: { projectId },
      move: { ...card, targetColumnId: Number(activeColumnId), position: 0 },
      archive: card,
      cancelAgent: card,
    },
  }
}

/** The example of a row by its name. */
export const exampleOf = (row: Row, seed: Seed): Record<string, unknown> => {
  const [resource, name] = row.name.split('.') as [string, string]
  return (examples(seed) as unknown as Record<string, Record<string, Record<string, unknown>>>)[resource]![name]!
}

/** Whoever the row is open to: the API key on external routes, the agent on its own, else the account. */
export const tokenFor = ({ route }: Row, seed: Seed): string =>
  route.who.kind === 'key' ? seed.apiKey : route.who.kind === 'agent' ? seed.agentToken : seed.token

export const sendsBody = ({ method }: Route): boolean => method !== 'GET' && method !== 'DELETE'

/** Puts an input's fields where they belong on the wire: path, then query or body. */
export function requestOf(route: Route, input: Record<string, unknown>): { path: string; options: RequestOptions } {
  const names = paramsOf(route.path)
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input[name])))
  const rest = Object.fromEntries(Object.entries(input).filter(([name]) => !names.includes(name)))
  if (route.transfer === 'upload')
    return route.input
      ? { path: `${path}${queryOf(rest)}`, options: fileBody('example.json', JSON.stringify(exampleBoard)) }
      : { path, options: fileBody() }
  if (sendsBody(route)) return { path, options: route.input ? { body: rest } : {} }
  return { path: `${path}${queryOf(rest)}`, options: {} }
}

function queryOf(fields: Record<string, unknown>): string {
  const query = new URLSearchParams(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]): [string, string] => [name, String(value)]),
  )
  return query.size > 0 ? `?${query}` : ''
}

/** A file of the board's own with one of everything that is told of. */
const exampleBoard = {
  format: 'board',
  version: 1,
  projects: [{ id: 1, name: 'Imported' }],
  boards: [{ id: 1, projectId: 1, name: 'Imported', position: 0 }],
  columns: [{ id: 1, boardId: 1, name: 'Ideas', columnType: 'backlog', position: 0 }],
  cards: [{ id: 1, columnId: 1, position: 0, title: 'Imported' }],
  attachments: [
    {
      id: 1,
      cardId: 1,
      filename: 'empty.txt',
      size: 0,
      sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    },
  ],
}
