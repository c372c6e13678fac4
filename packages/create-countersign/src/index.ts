// The entry point `create-countersign`, for `countersign init`.
export { readTemplateFile, TEMPLATES, type TemplateName } from './templates.ts';
