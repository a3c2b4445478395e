import { toJsonSchema, toJsonSchemaDefs, type ConversionConfig } from '@valibot/to-json-schema'
import type { GenericSchema } from 'valibot'
import { Attachment } from '../../src/contract/cards/attachments.ts'
import { Me, SignedIn } from '../../src/contract/accounts/auth.ts'
import { Backup } from '../../src/contract/server/backups.ts'
import { Board } from '../../src/contract/boards/boards.ts'
import { CardDetail, CardItem, Pipeline } from '../../src/contract/cards/cardRecords.ts'
import { Column } from '../../src/contract/boards/columns.ts'
import { ExternalBoard, ExternalCard, ExternalItem, ExternalStats } from '../../src/contract/server/external.ts'
import { Key, NewKey } from '../../src/contract/accounts/keys.ts'
import { Organization } from '../../src/contract/accounts/organizations.ts'
import { Project, Stats } from '../../src/contract/projects/projects.ts'
import { Shortcuts, UserSettings } from '../../src/contract/accounts/settings.ts'
import { Template } from '../../src/contract/boards/templates.ts'
import type { Schema } from './openapiTypes.ts'

/** Records that several answers contain. Each is described once. */
const records = {
  Attachment,
  Backup,
  Me,
  SignedIn,
  Board,
  CardItem,
  Card: CardDetail,
  Pipeline,
  Column,
  ExternalBoard,
  ExternalCard,
  ExternalItem,
  ExternalStats,
  Key,
  NewKey,
  Organization,
  Project,
  Stats,
  Shortcuts,
  UserSettings,
  Template,
}
const conversion = { target: 'draft-2020-12', errorMode: 'ignore' } satisfies ConversionConfig
const outputs = {
  ...conversion,
  typeMode: 'output',
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
} satisfies ConversionConfig

export const recordSchemas = (): Record<string, Schema> => toJsonSchemaDefs(records, outputs)

/** The schema of client input. */
export const inputSchema = (schema: GenericSchema): Schema =>
  withoutDialect(toJsonSchema(schema, { ...conversion, typeMode: 'input' }))

/** The schema of server output. */
export const outputSchema = (schema: GenericSchema): Schema =>
  withoutDialect(toJsonSchema(schema, { ...outputs, definitions: records }))

function withoutDialect(schema: Schema): Schema {
  delete schema.$schema
  delete schema.$defs
  return schema
}
