import { homedir } from 'node:os'
import { delimiter, isAbsolute } from 'node:path'

/** The variables of the server's own environment that every process inherits. */
const common = [
  'LANG',
  'LANGUAGE',
  'LC_ALL',
  'LC_CTYPE',
  'LC_MESSAGES',
  'LC_NUMERIC',
  'LC_TIME',
  'TZ',
  'SHELL',
  'USER',
  'LOGNAME',
  'SYSTEMROOT',
  'WINDIR',
  'COMSPEC',
  'PATHEXT',
  'SYSTEMDRIVE',
]
const proxies = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
  'no_proxy',
]
/** The locations of authorities' certificates. */
export const authorities: readonly string[] = [
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
]
/** The variables that relocate parts of the account's home folder. */
export const accountFolders = [
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
  'XDG_CACHE_HOME',
  'XDG_RUNTIME_DIR',
  'APPDATA',
  'LOCALAPPDATA',
  'USERPROFILE',
] as const
const temporaryFolders = ['TMPDIR', 'TMP', 'TEMP']
/** Prompts of a process that the server starts would never be answered. */
const unattended = {
  TERM: 'dumb',
  NO_COLOR: '1',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  GIT_EDITOR: 'true',
  GIT_TERMINAL_PROMPT: '0',
  NO_BROWSER: '1',
}

/**
 * The base environment of every process: search path, language, network. An allowlist, so that it contains none of the server's
 * secrets.
 */
export const baseEnvironment = (env: NodeJS.ProcessEnv): Record<string, string> => ({
  PATH: searchPath(env.PATH ?? ''),
  ...pickVariables(env, common),
  ...aroundLoopback(pickVariables(env, proxies)),
  ...pickVariables(env, authorities),
  ...unattended,
})

/**
 * The environment of a project's shell commands: the base, the account's home, and the variables of the server and
 * project.
 */
export const commandEnvironment = (board: {
  url: string
  projectId: number
  cardId?: number
}): Record<string, string> => ({
  ...baseEnvironment(process.env),
  ...pickVariables(process.env, [...accountFolders, ...temporaryFolders]),
  HOME: process.env.HOME ?? homedir(),
  ...boardVariables(board),
})

/** Variables that name the server, project and card of a process. */
export const boardVariables = ({
  url,
  projectId,
  cardId,
}: {
  url: string
  projectId: number
  cardId?: number
}): Record<string, string> => ({
  BOARD_URL: url,
  BOARD_PROJECT_ID: String(projectId),
  ...(cardId !== undefined && { BOARD_CARD_ID: String(cardId) }),
})

/** Returns those of the variables that are set. */
export const pickVariables = (env: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]])))

/** A search path without relative entries, which an agent could control in its folder. */
export const searchPath = (path: string): string =>
  path
    .split(delimiter)
    .filter(folder => isAbsolute(folder))
    .join(delimiter)

/** Excludes the board from proxies. */
function aroundLoopback(given: Record<string, string>): Record<string, string> {
  if (Object.keys(given).length === 0) return {}
  const direct = [given.NO_PROXY ?? given.no_proxy, 'localhost', '127.0.0.1', '::1'].filter(Boolean).join(',')
  return { ...given, NO_PROXY: direct, no_proxy: direct }
}
