#include <stdint.h>

#include "base/text.h"
#include "config/document.h"

/* One emitter and the style of its scalars. */
struct writer {
    yaml_emitter_t emitter;
    const struct document *document;
    yaml_scalar_style_t style;
};

static bool write_node(struct writer *writer, int node);

static bool write_scalar(struct writer *writer, const yaml_node_t *node)
{
    yaml_event_t event;
    return yaml_scalar_event_initialize(&event, NULL, NULL, node->data.scalar.value,
                                        (int)node->data.scalar.length, 1, 1, writer->style) &&
           yaml_emitter_emit(&writer->emitter, &event);
}

static bool write_sequence(struct writer *writer, const yaml_node_t *node)
{
    yaml_event_t event;
    if (!yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE) ||
        !yaml_emitter_emit(&writer->emitter, &event))
        return false;
    const yaml_node_item_t *item = node->data.sequence.items.start;
    for (; item < node->data.sequence.items.top; item++)
        if (!write_node(writer, *item))
            return false;
    return yaml_sequence_end_event_initialize(&event) &&
           yaml_emitter_emit(&writer->emitter, &event);
}

static bool write_mapping(struct writer *writer, const yaml_node_t *node)
{
    yaml_event_t event;
    if (!yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE) ||
        !yaml_emitter_emit(&writer->emitter, &event))
        return false;
    const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
    for (; pair < node->data.mapping.pairs.top; pair++)
        if (!write_node(writer, pair->key) || !write_node(writer, pair->value))
            return false;
    return yaml_mapping_end_event_initialize(&event) && yaml_emitter_emit(&writer->emitter, &event);
}

/* As deep as yaml_read lets a document be, and an override as deep again. */
static bool write_node(struct writer *writer, int node)
{
    const yaml_node_t *found = document_node(writer->document, node);
    if (found->type == YAML_SCALAR_NODE)
        return write_scalar(writer, found);
    if (found->type == YAML_SEQUENCE_NODE)
        return write_sequence(writer, found);
    return write_mapping(writer, found);
}

static bool write_stream(struct writer *writer)
{
    yaml_event_t event;
    return yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) &&
           yaml_emitter_emit(&writer->emitter, &event) &&
           yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) &&
           yaml_emitter_emit(&writer->emitter, &event) && write_node(writer, 1) &&
           yaml_document_end_event_initialize(&event, 1) &&
           yaml_emitter_emit(&writer->emitter, &event) &&
           yaml_stream_end_event_initialize(&event) && yaml_emitter_emit(&writer->emitter, &event);
}

/* False without memory. */
static bool write_document(const struct document *document, bool quoted, FILE *file)
{
    struct writer writer = {
        .document = document,
        .style = quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE,
    };
    if (!yaml_emitter_initialize(&writer.emitter))
        return false;
    yaml_emitter_set_output_file(&writer.emitter, file);
    yaml_emitter_set_width(&writer.emitter, -1);
    yaml_emitter_set_unicode(&writer.emitter, 1);
    bool written = write_stream(&writer);
    yaml_emitter_delete(&writer.emitter);
    return written;
}

int document_text(const struct document *document, bool quoted, char **ret_text, size_t *ret_bytes,
                  struct error *err)
{
    static const char what[] = "writing YAML";
    struct text text;
    int status = text_open(&text, what, err);
    if (status)
        return status;
    if (write_document(document, quoted, text.file))
        return text_close(&text, what, ret_text, ret_bytes, err);
    text_drop(&text);
    return error_memory(err, what);
}
