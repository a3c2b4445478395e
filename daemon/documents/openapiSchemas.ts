import { toJsonSchema, toJsonSchemaDefs, type ConversionConfig } from '@valibot/to-json-schema'
import type { GenericSchema } from 'valibot'
import { Attachment } from '../../src/contract/attachments.ts'
import { Me, SignedIn } from '../../src/contract/auth.ts'
import { Backup } from '../../src/contract/backups.ts'
import { Board } from '../../src/contract/boards.ts'
import { CardDetail, CardItem, Pipeline } from '../../src/contract/cardRecords.ts'
import { Column } from '../../src/contract/columns.ts'
import { ExternalBoard, ExternalCard, ExternalItem, ExternalStats } from '../../src/contract/external.ts'
import { Key, NewKey } from '../../src/contract/keys.ts'
import { Organization } from '../../src/contract/organizations.ts'
import { Project, Stats } from '../../src/contract/projects.ts'
import { Shortcuts, UserSettings } from '../../src/contract/settings.ts'
import { Template } from '../../src/contract/templates.ts'
import type { Schema } from './openapiTypes.ts'

/** Records that several answers hold: each is described once. */
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
