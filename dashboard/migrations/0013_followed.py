from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0012_audits"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="followed",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="job",
            name="following",
            field=models.BooleanField(default=False),
        ),
    ]
