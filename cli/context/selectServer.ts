import { readFileSync } from 'node:fs'
import { dataFolder, runtimeFile, type Runtime } from '../../src/config/paths.ts'
import { Failure, usage } from '../failures/failure.ts'
import type { Globals } from '../parsing/globals.ts'
import { readSettings, type Profile, type Settings } from './profiles.ts'
import { nearestWords } from '../output/text.ts'
import { unreadableFile } from '../failures/unreadableFile.ts'

/** A value and its source, for `board auth status`. */
interface SourcedValue {
  value: string
  from: string
}

/** The source of a value from daemon.json. */
export const fromRuntime = 'the running server on this machine'

/** The selected server, token and project, and the source of each. */
export interface ServerSelection {
  profile: SourcedValue | undefined
  url: SourcedValue | undefined
  token: SourcedValue | undefined
  project: SourcedValue | undefined
  /** The contents of daemon.json, if its URL is selected. Whether that server is alive has not been checked. */
  local: Runtime | undefined
  /** The certificate of the local server, if its origin is selected. */
  certificate: string | undefined
}

/** Selects the server by flags, then the environment, then the current profile, then the local server. */
export function selectServer(globals: Globals, settings: Settings = readSettings()): ServerSelection {
  const { env } = process
  const { name, profile } = selectProfile(globals, settings)
  const runtime = readRuntime()
  const fromProfile = `profile ${name?.value}`
  // The environment overrides a profile, unless a flag selects the profile.
  const choose = (environment: SourcedValue | undefined, ofProfile: SourcedValue | undefined) =>
    globals.profile === undefined ? (environment ?? ofProfile) : (ofProfile ?? environment)

  const project =
    withSource(globals.project, '--project') ??
    choose(withSource(env.BOARD_PROJECT, 'BOARD_PROJECT'), withSource(profile?.project, fromProfile))
  const url =
    withSource(globals.url, '--url') ??
    choose(withSource(env.BOARD_URL, 'BOARD_URL'), withSource(profile?.url, fromProfile)) ??
    withSource(runtime?.url, fromRuntime)
  if (!url) return { profile: name, url, token: undefined, project, local: undefined, certificate: undefined }

  // A profile's token is sent only to its own origin, and the local token only to the local server.
  const address = normalizeUrl(url)
  const origin = originOf(address)
  const profileToken = profile?.tokenOrigin === origin ? profile?.token : undefined
  const localServer = originOf(runtime?.url) === origin ? runtime : undefined
  const token =
    readToken(globals.tokenFile, '--token-file') ??
    choose(
      parseToken(env.BOARD_TOKEN, 'BOARD_TOKEN') ?? readToken(env.BOARD_TOKEN_FILE, 'BOARD_TOKEN_FILE'),
      parseToken(profileToken, fromProfile),
    ) ??
    withSource(localServer?.token, fromRuntime)
  return {
    profile: name,
    url: { ...url, value: address },
    token,
    project,
    local: url.from === fromRuntime ? runtime : undefined,
    certificate: localServer?.certificate,
  }
}

/**
 * Reads the daemon.json of this account's server. Returns undefined if there is none. Does not check whether the
 * server is alive.
 */
export function readRuntime(env: NodeJS.ProcessEnv = process.env): Runtime | undefined {
  try {
    const runtime = JSON.parse(readFileSync(runtimeFile(dataFolder(env)), 'utf8')) as Runtime
    return typeof runtime.url === 'string' && typeof runtime.token === 'string' ? runtime : undefined
  } catch {
    return undefined
  }
}

/** Returns the origin of a URL, or undefined if the URL is missing or invalid. */
export function originOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined
}

/** @throws Failure (not found) if a flag or the environment selects a profile that does not exist */
function selectProfile(
  globals: Globals,
  { current, profiles = {} }: Settings,
): { name: SourcedValue | undefined; profile: Profile | undefined } {
  const requested = withSource(globals.profile, '--profile') ?? withSource(process.env.BOARD_PROFILE, 'BOARD_PROFILE')
  const name = requested ?? withSource(current, 'the profile in use')
  const profile = name && Object.hasOwn(profiles, name.value) ? profiles[name.value] : undefined
  if (requested && !profile) {
    const similar = nearestWords(requested.value, Object.keys(profiles))
    throw new Failure('notFound', `there is no profile "${requested.value}" (${requested.from})`, {
      hint: similar.length > 0 ? `did you mean: ${similar.join(', ')}` : undefined,
      see: 'board profile list',
    })
  }
  return { name, profile }
}

/** Returns undefined for an empty value, because an empty environment variable counts as unset. */
const withSource = (value: string | undefined, from: string): SourcedValue | undefined =>
  value ? { value, from } : undefined

/** Returns a configured token without surrounding whitespace. @throws Failure (usage) if it is not one word */
function parseToken(value: string | undefined, from: string): SourcedValue | undefined {
  const token = value?.trim()
  if (token !== undefined && /[^\x21-\x7e]/.test(token))
    throw usage(`the token of ${from} is not one word: it contains a space, a line break or an invalid character`, {
      hint: 'a token starts with svc_ak_; create a new one with: board keys create',
      see: 'board help environment',
    })
  return withSource(token, from)
}

/** Reads a token from a file, or from stdin for `-`. Returns undefined without a path. */
function readToken(path: string | undefined, from: string): SourcedValue | undefined {
  if (!path) return undefined
  let text: string
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (error) {
    throw unreadableFile(`the file of ${from}`, error, { see: 'board help environment' })
  }
  const token = parseToken(text, `the file of ${from}`)
  if (token) return { ...token, from }
  throw usage(`the file of ${from} contains no token`, { see: 'board help environment' })
}

/** Adds a missing `http://`, and removes a slash at the end. @throws Failure (usage) if it is not an http or https URL */
function normalizeUrl({ value, from }: SourcedValue): string {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.username || url.password) {
    throw usage(`the address of ${from} must be an http or https URL without a password: ${value}`, {
      hint: 'for example http://127.0.0.1:4400',
    })
  }
  return url.origin + url.pathname.replace(/\/$/, '')
}
