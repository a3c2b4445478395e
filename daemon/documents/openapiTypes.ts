import type { JsonSchema } from '@valibot/to-json-schema'

export type Schema = JsonSchema & { $ref?: string }
export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  schema: Schema
  description?: string
}
export interface DocumentedAnswer {
  description: string
  content?: Record<string, { schema: Schema }>
}
export interface Operation {
  operationId: string
  tags: [string]
  summary: string
  description: string
  security: Array<Record<string, string[]>>
  parameters: Parameter[]
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> }
  responses: Record<string, DocumentedAnswer>
}
export interface OpenApiDocument {
  openapi: string
  info: { title: string; version: string; description: string }
  servers: Array<{ url: string }>
  tags: Array<{ name: string }>
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, Schema>
    securitySchemes: Record<string, object>
  }
}
